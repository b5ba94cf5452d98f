import Synchronization
import Workers

/// The thread that writes: takes all that is queued, and commits it together, as `SQLiteWriter` does.
///
/// A batch that certainly did not commit is run again; of one whose COMMIT was not answered nobody knows, and its callers
/// are told to try again, with their idempotency keys.
final class PostgresWriter: Sendable {
    private struct Write: Sendable {
        /// Runs the body. What it returns answers the caller, after the commit.
        let perform: @Sendable (PostgresConnection) throws(StorageError) -> @Sendable () -> Void
        let fail: @Sendable (StorageError) -> Void
    }

    /// A type of its own, as `SQLiteWriter.CommitHook` says.
    private struct CommitHook {
        var call: (@Sendable ([LogEntry]) -> Void)?
    }

    private enum Outcome {
        case committed
        /// Nothing of it stays.
        case undone(StorageError)
        case unknown(StorageError)
    }

    /// The first may meet a connection that went while nobody looked.
    private static let attempts = 3

    private let connection: PostgresConnection
    private let writes: BlockingQueue<Write>
    private let maxBatch: Int
    private let counters: SQLiteCounters
    private let hook = Mutex(CommitHook())

    init(_ connection: PostgresConnection, configuration: SQLiteConfiguration, counters: SQLiteCounters) {
        self.connection = connection
        writes = BlockingQueue(maxCount: configuration.maxQueuedWrites, maxBytes: configuration.maxQueuedBytes)
        maxBatch = configuration.maxBatch
        self.counters = counters
    }

    var queuedWrites: Int { writes.count }

    func onCommit(_ hook: @escaping @Sendable ([LogEntry]) -> Void) {
        self.hook.withLock {
            precondition($0.call == nil, "one hook, set once")
            $0.call = hook
        }
    }

    func push(
        bytes: Int,
        perform: @escaping @Sendable (PostgresConnection) throws(StorageError) -> @Sendable () -> Void,
        fail: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        do {
            try writes.push(Write(perform: perform, fail: fail), bytes: bytes)
        } catch {
            throw StorageError(error)
        }
    }

    func close() { writes.close() }

    /// Until it is closed and has written all that was queued.
    func run() {
        while let batch = writes.take(atMost: maxBatch) {
            var outcome = commit(batch)
            for _ in 1..<Self.attempts {
                guard case .undone = outcome else { break }
                outcome = commit(batch)
            }
            switch outcome {
            case .committed: break
            case .undone(let error), .unknown(let error):
                counters.commitFailed()
                for write in batch { write.fail(error) }
            }
        }
    }

    private func commit(_ batch: [Write]) -> Outcome {
        var isCommitting = false
        do throws(StorageError) {
            try connection.begin()
            var answers: [@Sendable () -> Void] = []
            answers.reserveCapacity(batch.count)
            for write in batch { answers.append(try write.perform(connection)) }
            isCommitting = true
            let (hooks, entries) = try connection.commit()
            counters.committed(writes: batch.count)
            for hook in hooks { hook() }
            if !entries.isEmpty { hook.withLock { $0.call }?(entries) }
            for answer in answers { answer() }
            return .committed
        } catch {
            connection.rollBack()
            return isCommitting ? .unknown(error) : .undone(error)
        }
    }
}
