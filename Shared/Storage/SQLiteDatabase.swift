import Workers

/// A database in an SQLite file: one thread that writes, a few that read.
///
/// WAL with `synchronous=FULL`: a commit returns after its log is on disk, and readers never wait for the writer.
/// Dropping the last reference closes it as `close` does, without waiting.
public final class SQLiteDatabase: Database {
    public enum Location: Sendable {
        /// The directory has to exist; the file need not.
        case file(String)
        /// As good as in memory, and exactly as the other in all else: a file without a name that ends with the process,
        /// and never waits for the disk.
        case temporary
    }

    public let databaseID: String
    private let writer: SQLiteWriter
    private let reads: SnapshotReads<SQLiteConnection>
    private let counters: SQLiteCounters
    private let threads: WorkerThreads

    /// Opens or creates the database and brings its schema up to date. Blocks: it is for the start of a program.
    ///
    /// - Parameter migrations: the service's own, from the first on; the event log's are added.
    /// - Throws: `MigrationError`, with nothing changed; `StorageError`.
    public init(
        _ location: Location, migrations: [Migration], configuration: SQLiteConfiguration = SQLiteConfiguration()
    ) throws {
        let isTemporary: Bool
        let file: SQLiteFile
        switch location {
        case .file(let path):
            isTemporary = false
            file = SQLiteFile(path: path)
            try file.create()
        case .temporary:
            isTemporary = true
            file = try SQLiteFile.temporary()
        }
        defer { if isTemporary { file.unlink() } }
        let connection = try SQLiteConnection(file.path, role: .writer)
        try connection.configure(configuration, isDurable: !isTemporary)
        databaseID = try Self.migrate(connection, migrations)
        if !isTemporary { try file.syncDirectory() }
        let readers = try (0..<configuration.readers).map { _ in
            let reader = try SQLiteConnection(file.path, role: .reader)
            try reader.configure(configuration, isDurable: !isTemporary)
            // Its first read opens the log, while the name is still there.
            _ = try EventLog.head(on: reader)
            return reader
        }

        let counters = SQLiteCounters()
        let reads = SnapshotReads<SQLiteConnection>(configuration, counters: counters)
        self.counters = counters
        self.reads = reads
        writer = SQLiteWriter(connection, configuration: configuration, counters: counters) { [weak reads] in
            // A reader does it: so no write waits for it.
            reads?.requestCheckpoint()
        }
        threads = WorkerThreads {
            // One after the other, and no thread beside: or each might leave the log's removal to another.
            for reader in readers { reader.close() }
            connection.close()
        }
        threads.start { [writer] in writer.run() }
        for reader in readers {
            threads.start { reads.run(on: reader) }
        }
    }

    deinit {
        writer.close()
        reads.close()
    }

    private static func migrate(_ connection: SQLiteConnection, _ migrations: [Migration]) throws -> String {
        try connection.begin()
        do {
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
