/// Migrates schemas, and records in the database which migrations were applied, with their text.
struct SchemaHistory {
    let connection: any ScriptableConnection
    /// Called with the number of converted rows.
    private let report: (Int) -> Void

    /// The number of converted rows between two reports.
    private static let reportedRows = 100_000

    /// Applies Storage's own migrations and the service's to a database.
    ///
    /// - Parameter report: called with the number of converted rows, after each `reportedRows` of them.
    /// - Returns: the database's id.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`.
    static func migrate(
        _ connection: some TransactionalConnection, _ migrations: [Migration], report: @escaping (Int) -> Void
    ) throws -> String {
        var needed: Int?
        do {
            return try connection.transaction { connection in
                try connection.liftTimeLimit()
                let history = try SchemaHistory(on: connection, report: report)
                try history.apply(DatabaseIdentity.migrations, to: "storage")
                needed = try history.requireSpace(for: migrations, of: "service")
                try history.apply(migrations, to: "service")
                return try DatabaseIdentity.loadOrCreate(on: connection)
            }
        } catch StorageError.full {
            guard let needed else { throw StorageError.full }
            throw MigrationError.noSpace(needed: needed, free: connection.freeBytes)
        }
    }

    /// Creates the history's table. To be called in the transaction that applies the migrations: of two
    /// programs that start at once, the second finds them applied.
    private init(on connection: any ScriptableConnection, report: @escaping (Int) -> Void) throws {
        self.connection = connection
        self.report = report
        try connection.run(
            script: """
                CREATE TABLE IF NOT EXISTS schema_history (
                    schema TEXT NOT NULL,
                    version INTEGER NOT NULL,
                    name TEXT NOT NULL,
                    sql TEXT NOT NULL,
                    PRIMARY KEY (schema, version)
                )
                """)
    }

    /// - Throws: `MigrationError` before anything is changed; `StorageError`.
    private func apply(_ migrations: [Migration], to schema: String) throws {
        let applied = try Self.countApplied(migrations, to: schema, on: connection)
        for migration in migrations.dropFirst(applied) {
            try connection.run(script: migration.sql)
            if let conversion = migration.convert { try convert(conversion) }
            try connection.execute(
                "INSERT INTO schema_history (schema, version, name, sql) VALUES ($1, $2, $3, $4)",
                schema, migration.version, migration.name, migration.sql)
        }
    }

    private func convert(_ conversion: Migration.Conversion) throws {
        var rows = 0
        try conversion(connection) { converted in
            rows += converted
            if rows / Self.reportedRows > (rows - converted) / Self.reportedRows { report(rows) }
        }
    }

    /// Requires twice the space that the database takes, if rows are to be converted: until the transaction ends they exist
    /// twice, and the log has the new ones and what is left of the old ones once more.
    ///
    /// - Returns: the required space in bytes; nil if no rows are converted.
    /// - Throws: `MigrationError.noSpace`; `StorageError`.
    private func requireSpace(for migrations: [Migration], of schema: String) throws -> Int? {
        let applied = try Self.countApplied(migrations, to: schema, on: connection)
        guard migrations.dropFirst(applied).contains(where: { $0.convert != nil }) else { return nil }
        let needed = 2 * (try connection.usedBytes())
        if let free = connection.freeBytes, free < needed { throw MigrationError.noSpace(needed: needed, free: free) }
        return needed
    }

    /// - Throws: `MigrationError` if the applied migrations are not exactly these; `StorageError`.
    static func requireCurrent(_ migrations: [Migration], of schema: String, on connection: any Connection) throws {
        let applied = try countApplied(migrations, to: schema, on: connection)
        guard applied == migrations.count else {
            throw MigrationError.databaseIsOlder(schema: schema, version: applied, known: migrations.count)
        }
    }

    /// Returns the number of applied migrations, which are the first ones.
    private static func countApplied(
        _ migrations: [Migration], to schema: String, on connection: any Connection
    ) throws -> Int {
        guard migrations.map(\.version) == Array(1..<migrations.count + 1) else {
            let listed = migrations.map { "\($0.version) (\($0.name))" }.joined(separator: ", ")
            fatalError("the versions of migrations count from 1 without gaps, and these do not: \(listed)")
        }
        let applied = try connection.all(
            "SELECT name, sql FROM schema_history WHERE schema = $1 ORDER BY version", schema
        ) { (name: $0.text(0), sql: $0.text(1)) }
        guard applied.count <= migrations.count else {
            throw MigrationError.databaseIsNewer(schema: schema, version: applied.count, known: migrations.count)
        }
        for (migration, applied) in zip(migrations, applied) where migration.sql != applied.sql {
            throw MigrationError.changed(schema: schema, version: migration.version, name: applied.name)
        }
        return applied.count
    }
}
