import ParlorWorkers

/// The threads of every engine's database: one that writes to each log and a few that read, each with its connection.
///
/// Releasing the last reference closes it like `close`, without waiting.
final class DatabaseThreads<Engine: TransactionalConnection>: Sendable {
    /// The writers by the number of their log.
    private let writers: [Int: BatchWriter<Engine>]
    let reads: SnapshotReads<Engine>
    let counters: DatabaseCounters
    private let threads: WorkerThreads

    /// - Parameters:
    ///   - name: the prefix of its threads' names.
    ///   - connections: those that write, each for its own log.
    init(named name: String, writers connections: [Engine], readers: [Engine], configuration: DatabaseConfiguration) {
        let counters = DatabaseCounters()
        let reads = SnapshotReads<Engine>(configuration, counters: counters)
        self.counters = counters
        self.reads = reads
        writers = Dictionary(
            uniqueKeysWithValues: connections.map {
                ($0.log, BatchWriter($0, configuration: configuration, counters: counters, reads: reads))
            })
        threads = WorkerThreads(priority: configuration.priority) {
            // Close them one after the other, with no thread running: otherwise each might leave the removal
            // of SQLite's log to another.
            for reader in readers { reader.close() }
            for connection in connections { connection.close() }
        }
        for writer in writers.values {
            threads.start(named: "\(name.prefix(9))-write") { writer.run() }
        }
        for reader in readers {
            threads.start(named: "\(name.prefix(9))-read") { reads.run(on: reader) }
        }
    }

    deinit { stop() }

    var statistics: DatabaseStatistics {
        var statistics = counters.statistics
        statistics.queuedWrites = writers.values.reduce(0) { $0 + $1.queuedWrites }
        statistics.queuedReads = reads.queued
        return statistics
    }

    func writer(of log: Int) -> BatchWriter<Engine> {
        guard let writer = writers[log] else { preconditionFailure("a write to log \(log), which the database lacks") }
        return writer
    }

    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) {
        for writer in writers.values { writer.onCommit(hook) }
    }

    func close() async {
        stop()
        await threads.ended()
    }

    private func stop() {
        for writer in writers.values { writer.close() }
        reads.close()
    }
}

/// A database whose threads run the closures. Engines differ in how they open it.
protocol ThreadedDatabase: Database {
    associatedtype Engine: TransactionalConnection
    var threads: DatabaseThreads<Engine> { get }
}

extension ThreadedDatabase {
    public var statistics: DatabaseStatistics { threads.statistics }

    public func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) { threads.onCommit(hook) }

    public func snapshot(
        _ body: @escaping @Sendable (any Connection) throws -> Void,
        completion: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) {
        do {
            try threads.reads.push { [threads] connection in
                let result = Result { try body(connection) }
                if let failure = result.storageFailure { threads.counters.note(failure) }
                return { completion(result) }
            } fail: {
                completion(.failure($0))
            }
        } catch {
            completion(.failure(error))
        }
    }

    public func transaction(
        holding bytes: Int, _ durability: Durability, in log: Int, wanting key: WantedKey?,
        _ body: @escaping @Sendable (any Connection) throws -> Void
    ) async throws {
        // The continuation's closure runs before this suspends, so writes are queued in the order of the
        // calls.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try threads.writer(of: log).push(bytes: bytes, durability, wanting: key) {
                    [threads] connection, isolated, wanted throws(StorageError) in
                    let result = try connection.perform(isolated: isolated) {
                        try connection.load(wanted)
                        try body($0)
                    }
                    let failure = result.storageFailure
                    if let failure { threads.counters.note(failure) }
                    return .init(
                        mustBeUndone: !isolated && connection.mustUndo(result),
                        isWritingFailing: failure?.isRetryable ?? false
                    ) { continuation.resume(with: result) }
                } fail: {
                    continuation.resume(throwing: $0)
                }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    public func close() async { await threads.close() }
}

extension Result {
    /// The error, if it is one of a database.
    fileprivate var storageFailure: StorageError? {
        guard case .failure(let error) = self else { return nil }
        return error as? StorageError
    }
}
