import Synchronization
import Workers

/// The thread that writes: takes all that is queued, and commits it together.
///
/// Alone, a write is committed at once; while the disk takes its time over one commit, the next one gathers. So one
/// fsync serves as many writes as arrive during the one before it, and nobody waits for a batch to fill.
final class BatchWriter<Writer: TransactionalConnection>: Sendable {
    private struct Write: Sendable {
        let durability: Durability
        /// Runs the body. What it returns answers the caller, after the commit.
        let perform: @Sendable (Writer) throws(StorageError) -> @Sendable () -> Void
        let fail: @Sendable (StorageError) -> Void
    }

    /// A type of its own: taken out of a `Mutex` that holds nothing but it, a closure comes back wrapped twice, and is put
    /// back so. After 10,000 commits it lay 20,000 calls deep.
    private struct CommitHook {
        var call: (@Sendable ([LogEntry]) -> Void)?
    }

    /// How often a batch is run at most that the engine has undone for a reason of its own.
    private static var attempts: Int { 3 }

    private let connection: Writer
    private let writes: BlockingQueue<Write>
    private let maxBatch: Int
    private let crashPoint: CrashPoint?
    private let counters: DatabaseCounters
    private let requestCheckpoint: @Sendable () -> Void
    private let hook = Mutex(CommitHook())

    init(
        _ connection: Writer, configuration: DatabaseConfiguration, counters: DatabaseCounters,
        requestCheckpoint: @escaping @Sendable () -> Void
    ) {
        self.connection = connection
        writes = BlockingQueue(maxCount: configuration.maxQueuedWrites, maxBytes: configuration.maxQueuedBytes)
        maxBatch = configuration.maxBatch
        crashPoint = configuration.crashPoint
        self.counters = counters
        self.requestCheckpoint = requestCheckpoint
    }

    var queuedWrites: Int { writes.count }

    func onCommit(_ hook: @escaping @Sendable ([LogEntry]) -> Void) {
        self.hook.withLock {
            precondition($0.call == nil, "one hook, set once")
            $0.call = hook
        }
    }

    func push(
        bytes: Int, _ durability: Durability,
        perform: @escaping @Sendable (Writer) throws(StorageError) -> @Sendable () -> Void,
        fail: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        do {
            try writes.push(Write(durability: durability, perform: perform, fail: fail), bytes: bytes)
        } catch {
            throw StorageError(error)
        }
    }

    func close() { writes.close() }

    /// Until it is closed and has written all that was queued.
    func run() {
        var commits = 0
        while let batch = writes.take(atMost: maxBatch) {
            commits += 1
            commit(batch, crashingAt: commits == crashPoint?.count ? crashPoint : nil)
            switch connection.checkpointIfDue() {
            case .notDue: break
            case .done: counters.checkpointed()
            case .wanted: requestCheckpoint()
            }
        }
    }

    private func commit(_ batch: [Write], crashingAt crashPoint: CrashPoint?) {
        for attempt in 1...Self.attempts {
            do throws(StorageError) {
                return try commitOnce(batch, crashingAt: crashPoint)
            } catch {
                let mayRunAgain = connection.mayRunAgain
                connection.rollBack()
                if mayRunAgain, attempt < Self.attempts { continue }
                counters.commitFailed()
                for write in batch { write.fail(error) }
                return
            }
        }
    }

    private func commitOnce(_ batch: [Write], crashingAt crashPoint: CrashPoint?) throws(StorageError) {
        try connection.begin(batch.allSatisfy { $0.durability == .relaxed } ? .relaxed : .synced)
        var answers: [@Sendable () -> Void] = []
        answers.reserveCapacity(batch.count)
        for write in batch { answers.append(try write.perform(connection)) }
        if crashPoint?.place == .beforeCommit { crashPoint?.crash() }
        let (hooks, entries) = try connection.commit()
        if crashPoint?.place == .afterCommit { crashPoint?.crash() }
        counters.committed(writes: batch.count)
        for hook in hooks { hook() }
        if !entries.isEmpty { hook.withLock { $0.call }?(entries) }
        if crashPoint?.place == .afterPublish { crashPoint?.crash() }
        for answer in answers { answer() }
    }
}
