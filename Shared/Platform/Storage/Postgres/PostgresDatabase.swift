/// A database in a schema of a PostgreSQL server: one thread that writes to each log and a few that read, each with a
/// connection.
///
/// Several programs may have the same schema open. A lock of each log orders their writes to it.
public final class PostgresDatabase: ThreadedDatabase {
    /// The other processes that may use the database.
    public enum Claim: Sendable {
        /// Processes on the same bus, which receive each other's changes.
        case shared
        /// No other process: its changes would not be sent to this process's clients.
        case alone
    }

    public let databaseID: String
    let threads: DatabaseThreads<PostgresConnection>

    /// Creates the schema if it does not exist, and migrates it. Blocks, so call it when a program starts.
    ///
    /// - Parameters:
    ///   - schema: the service's name, a lower-case word.
    ///   - migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`, `.io` if the server is not available
    ///   or another program's claim conflicts.
    public init(
        _ url: PostgresURL, schema: String, claim: Claim = .shared, migrations: [Migration],
        configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws {
        let session = PostgresSession(url, schema: schema, claim: claim, configuration: configuration)
        let connection = PostgresConnection(session, role: .writer)
        try connection.transaction { try PostgresSchema.create(schema, on: $0) }
        databaseID = try SchemaHistory.migrate(
            connection, migrations, report: configuration.onConversion)
        try Self.begin(configuration.logs, connection, session)
        session.requiredLogs = configuration.logs.count
        if configuration.logs != [0] { connection.narrow(to: configuration.logs[0]) }
        let others = configuration.logs.dropFirst().map { log in
            // One connection at a time can hold a claim to be alone.
            let session = PostgresSession(
                url, schema: schema, claim: claim == .alone ? nil : claim, configuration: configuration)
            session.requiredLogs = configuration.logs.count
            let connection = PostgresConnection(session, role: .writer)
            connection.narrow(to: log)
            return connection
        }
        let readers = (0..<configuration.readers).map { _ in
            PostgresConnection(PostgresSession(url, schema: schema, configuration: configuration), role: .reader)
        }
        threads = DatabaseThreads(
            named: schema, writers: [connection] + others, readers: readers, configuration: configuration)
    }

    /// Begins to write to these logs, unless another program writes to others.
    private static func begin(
        _ logs: [Int], _ connection: PostgresConnection, _ session: PostgresSession
    ) throws {
        try connection.transaction { connection in
            let count = try connection.number(DatabaseIdentity.countLogs)
            guard count != logs.count else { return }
            guard try connection.number(session.claimAll) == 1 else {
                throw StorageError.io(
                    "\(session.schema) has \(count ?? 0) logs in another program, and \(logs.count) were asked for: stop all"
                )
            }
            try DatabaseIdentity.setLogs(logs.count, on: connection)
            // The claim of the session remains.
            _ = try connection.number(session.endClaimOfAll)
        }
    }
}

/// A service's schema on a PostgreSQL server.
public final class PostgresMaintenance: MaintenanceDatabase {
    private let reader: PostgresConnection
    private let writer: PostgresConnection

    /// Connects to a service's schema.
    ///
    /// - Throws: `StorageError`, `.io` if the server is not available, `.corrupt` if it has no such schema of
    ///   Parlor's.
    public init(existing url: PostgresURL, schema: String) throws {
        // Recounting millions of rows takes longer than a program may let its callers wait.
        let session = { PostgresSession(url, schema: schema, hasTimeLimit: false) }
        reader = PostgresConnection(session(), role: .reader)
        writer = PostgresConnection(session(), role: .writer)
        let isThere = try read { connection in
            try connection.first(
                "SELECT 1 FROM pg_tables WHERE schemaname = $1 AND tablename = 'schema_history'", schema
            ) { _ in true }
        }
        guard isThere == true else { throw StorageError.corrupt("\(url) has no schema `\(schema)` of Parlor") }
    }

    public func requireSchema(_ migrations: [Migration]) throws {
        try read { try SchemaHistory.requireCurrent(migrations, of: "service", on: $0) }
    }

    public func read<T>(_ body: (any Connection) throws -> T) throws -> T { try reader.snapshot(body) }

    public func countLogs() throws -> Int { try read { try $0.number(DatabaseIdentity.countLogs) ?? 1 } }

    public func write<T>(in log: Int, _ body: (any Connection) throws -> T) throws -> T {
        writer.record.keys = LogKeys(log)
        return try writer.transaction(body)
    }

    public func close() {
        reader.close()
        writer.close()
    }
}
