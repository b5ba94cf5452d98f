/// Brings schemas up to date, and remembers in the database which migrations it has seen, with their text.
struct SchemaHistory {
    let connection: any ScriptableConnection

    /// One transaction with what applies it: of two programs that start at once the second finds the work done.
    init(on connection: any ScriptableConnection) throws {
        self.connection = connection
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
    func apply(_ migrations: [Migration], to schema: String) throws {
        precondition(migrations.map(\.version) == Array(1..<migrations.count + 1), "versions count from 1")
        let applied = try connection.all(
            "SELECT name, sql FROM schema_history WHERE schema = $1 ORDER BY version", schema
        ) { (name: $0.text(0), sql: $0.text(1)) }
        guard applied.count <= migrations.count else {
            throw MigrationError.databaseIsNewer(schema: schema, version: applied.count, known: migrations.count)
        }
        for (migration, applied) in zip(migrations, applied) where migration.sql != applied.sql {
            throw MigrationError.changed(schema: schema, version: migration.version, name: applied.name)
        }
        for migration in migrations.dropFirst(applied.count) {
            try connection.run(script: migration.sql)
            try connection.execute(
                "INSERT INTO schema_history (schema, version, name, sql) VALUES ($1, $2, $3, $4)",
                schema, migration.version, migration.name, migration.sql)
        }
    }
}

/// A connection that runs several statements without parameters, as a migration has them.
protocol ScriptableConnection: Connection {
    func run(script: String) throws(StorageError)
}
