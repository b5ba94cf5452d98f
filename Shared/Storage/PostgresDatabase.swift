import Workers

/// A database in a schema of a PostgreSQL server: one thread that writes, a few that read, each with a connection.
///
/// Several programs may have the same schema open: their writes take turns by a lock of it.
public final class PostgresDatabase: Database {
    public let databaseID: String
    private let writer: PostgresWriter
    private let reads: SnapshotReads<PostgresConnection>
    private let counters = SQLiteCounters()
    private let threads: WorkerThreads

    /// Creates the schema if it is not there and brings it up to date. Blocks: it is for the start of a program.
    ///
    /// - Parameters:
    ///   - schema: the service's name, a lower-case word.
    ///   - migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`, `.io` if the server is not there.
    public init(
        _ url: PostgresURL, schema: String, migrations: [Migration],
        configuration: SQLiteConfiguration = SQLiteConfiguration()
    ) throws {
        let connection = PostgresConnection(PostgresSession(url, schema: schema), role: .writer)
        databaseID = try Self.migrate(connection, schema, migrations)
        let readers = (0..<configuration.readers).map { _ in
            PostgresConnection(PostgresSession(url, schema: schema), role: .reader)
        }
        reads = SnapshotReads(configuration, counters: counters)
        writer = PostgresWriter(connection, configuration: configuration, counters: counters)
        threads = WorkerThreads {
            for connection in readers + [connection] { connection.close() }
        }
        threads.start { [writer] in writer.run() }
        for reader in readers {
            threads.start { [reads] in reads.run(on: reader) }
        }
    }

    deinit {
        writer.close()
        reads.close()
    }

    private static func migrate(
        _ connection: PostgresConnection, _ schema: String, _ migrations: [Migration]
    ) throws -> String {
        try connection.begin()
        do {
            try PostgresSchema.create(schema, on: connection)
            let history = try SchemaHistory(on: connection)
            try history.apply(DatabaseIdentity.migrations, to: "storage")
            try history.apply(migrations, to: "service")
            let id = try DatabaseIdentity.loadOrCreate(on: connection)
            _ = try connection.commit()
            return id
        } catch {
            connection.rollBack()
            throw error
        }
    }

    public var statistics: DatabaseStatistics {
        var statistics = counters.statistics
        statistics.queuedWrites = writer.queuedWrites
        statistics.queuedReads = reads.queued
        return statistics
    }

    public func onCommit(_ hook: @escaping @Sendable ([LogEntry]) -> Void) { writer.onCommit(hook) }

    public func read<T: Sendable>(_ body: @escaping @Sendable (any Connection) throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try reads.push { connection in
                    let result = Result { try body(connection) }
                    return { continuation.resume(with: result) }
                } fail: {
                    continuation.resume(throwing: $0)
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    @discardableResult
    public func write<T: Sendable>(
        holding bytes: Int, _ body: @escaping @Sendable (any Connection) throws -> T
    ) async throws -> T {
        // The continuation's closure runs before this suspends: so calls are queued in the order they are made.
        try await withCheckedThrowingContinuation { continuation in
            do {
                try writer.push(bytes: bytes) { connection throws(StorageError) in
                    let result = try connection.savepoint(body)
                    return { continuation.resume(with: result) }
                } fail: {
                    continuation.resume(throwing: $0)
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    public func close() async {
        writer.close()
        reads.close()
        await threads.ended()
    }
}
