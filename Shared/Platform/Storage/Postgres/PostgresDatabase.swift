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

    /// Other programs have the schema open with another number of logs.
    public struct OtherLogs: Error, CustomStringConvertible {
        let schema: String
        let count: Int
        let wanted: Int

        public var description: String {
            "\(schema) has \(count) logs in other programs, and \(wanted) were asked for: stop all of them first"
        }
    }

    public let databaseID: String
    public let logs: [Int]
    let threads: DatabaseThreads<PostgresConnection>

    /// Creates the schema if it does not exist, and migrates it. Blocks, so call it when a program starts.
    ///
    /// - Parameters:
    ///   - schema: the service's name, a lower-case word.
    ///   - migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `OtherLogs`; `StorageError`, `.io` if the server is not available
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
        let found = try Self.settleLogs(configuration.logCount, connection, session)
        logs = DatabaseIdentity.logs(found)
        session.requiredLogs = found
        let connections = logs.enumerated().map { place, log in
            let connection =
                place == 0
                ? connection
                : PostgresConnection(
                    PostgresSession(url, schema: schema, claim: claim, requiring: found, configuration: configuration),
                    role: .writer)
            if log != 0 { connection.narrow(to: log, at: place) }
            return connection
        }
        // So each has its claim from now on.
        for connection in connections.dropFirst() { try connection.transaction { _ in } }
        let readers = (0..<configuration.readers).map { _ in
            PostgresConnection(
                PostgresSession(url, schema: schema, requiring: found, configuration: configuration), role: .reader)
        }
        threads = DatabaseThreads(
            named: schema, writers: connections, readers: readers, configuration: configuration)
    }

    /// Begins new logs if their number is to be another one.
    ///
    /// - Returns: the logs (`DatabaseIdentity.findLogs`).
    private static func settleLogs(
        _ count: Int, _ connection: PostgresConnection, _ session: PostgresSession
    ) throws -> Int {
        var closed: [String] = []
        let found = try connection.transaction { connection in
            var found = try connection.number(DatabaseIdentity.findLogs) ?? 1
            let others = OtherLogs(schema: session.schema, count: DatabaseIdentity.countLogs(found), wanted: count)
            if DatabaseIdentity.countLogs(found) != count {
                for statement in session.closeSchema {
                    guard try connection.number(statement) == 1 else { throw others }
                }
                closed = session.openSchema
                try DatabaseIdentity.beginLogs(count, on: connection)
                found = try connection.number(DatabaseIdentity.findLogs) ?? count
            }
            guard try connection.number(session.keepLogs) == 1 else { throw others }
            return found
        }
        // Only after the commit, so that whoever comes in sees the new logs.
        for statement in closed { _ = try connection.transaction { try $0.number(statement) } }
        return found
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

    public func logs() throws -> [Int] {
        DatabaseIdentity.logs(try read { try $0.number(DatabaseIdentity.findLogs) ?? 1 })
    }

    public func write<T>(in log: Int, _ body: (any Connection) throws -> T) throws -> T {
        writer.record.keys = LogKeys(log)
        return try writer.transaction(body)
    }

    public func close() {
        reader.close()
        writer.close()
    }
}
