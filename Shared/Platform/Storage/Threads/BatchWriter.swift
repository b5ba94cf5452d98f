import ParlorWorkers
import Synchronization

/// The thread that writes: takes everything queued, and commits it together.
///
/// A single write is committed at once; while the disk works on one commit, the next batch gathers. So one
/// fsync serves as many writes as arrive during the previous one, and no write waits for a batch to fill.
///
/// A savepoint for each write would take a fifth of a batch's time. As nearly all writes succeed, they have none. If
/// one fails with an error of the database, or after it has changed something, the batch is undone. It then runs once
/// more, with savepoints, so that only the failing write is undone. What the writes want to know is loaded before the first
/// of them or, with savepoints, before each.
final class BatchWriter<Writer: TransactionalConnection>: Sendable {
    /// Runs a write's body, in the transaction of its batch.
    ///
    /// - Parameters:
    ///   - isolated: true if a failure undoes this write alone.
    ///   - wanted: the keys to load before it.
    typealias Perform = @Sendable (Writer, _ isolated: Bool, _ wanted: [WantedKey]) throws(StorageError) -> Outcome

    struct Outcome: Sendable {
        /// True if the whole batch must be undone, because this write failed and could not be undone alone.
        let mustBeUndone: Bool
        /// True if this write failed for a reason that may pass, such as a full disk. Other writes may fail for the
        /// same reason.
        let isWritingFailing: Bool
        /// Resumes the caller with the result.
        let answer: @Sendable () -> Void
    }

    private struct Write: Sendable {
        let durability: Durability
        let key: WantedKey?
        let perform: Perform
        let fail: @Sendable (StorageError) -> Void
    }

    /// Wraps the hook's closure. A closure that is itself the value of a `Mutex` gains two thunks each time it is taken
    /// out and put back. After 10,000 commits the call was 20,000 levels deep.
    private struct CommitHook {
        var call: (@Sendable ([any CommitEvent]) -> Void)?
    }

    /// The maximum of attempts for a batch that the engine rolled back for its own reasons.
    private static var attempts: Int { 3 }
    /// The number of batches that use savepoints once a write had to be undone, beginning with its own batch. Callers
    /// often repeat a write that failed.
    private static var carefulBatches: Int { 16 }

    private let connection: Writer
    private let writes: BlockingQueue<Write>
    private let maxBatch: Int
    private let crashPoint: CrashPoint?
    private let counters: DatabaseCounters
    private let reads: SnapshotReads<Writer>
    private let hook = Mutex(CommitHook())

    init(
        _ connection: Writer, configuration: DatabaseConfiguration, counters: DatabaseCounters,
        reads: SnapshotReads<Writer>
    ) {
        self.connection = connection
        writes = BlockingQueue(maxCount: configuration.maxQueuedWrites, maxBytes: configuration.maxQueuedBytes)
        maxBatch = configuration.maxBatch
        crashPoint = configuration.crashPoint
        self.counters = counters
        self.reads = reads
    }

    var queuedWrites: Int { writes.count }

    func onCommit(_ hook: @escaping @Sendable ([any CommitEvent]) -> Void) {
        self.hook.withLock {
            precondition($0.call == nil, "one hook, set once")
            $0.call = hook
        }
    }

    func push(
        bytes: Int, _ durability: Durability, wanting key: WantedKey?,
        perform: @escaping Perform,
        fail: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        do {
            try writes.push(Write(durability: durability, key: key, perform: perform, fail: fail), bytes: bytes)
        } catch {
            throw StorageError(error)
        }
    }

    func close() { writes.close() }

    /// Commits batches until the queue is closed and empty.
    func run() {
        var commits = 0
        /// The number of later batches that use savepoints from the start.
        var careful = 0
        let wakeups = CoalescedWakeups()
        while let batch = writes.take(atMost: maxBatch) {
            commits += 1
            let crashPoint = commits == crashPoint?.count ? crashPoint : nil
            if careful == 0, !commit(batch, isolated: false, crashingAt: crashPoint, wakeups) {
                careful = Self.carefulBatches
            }
            if careful > 0 {
                careful -= 1
                commit(batch, isolated: true, crashingAt: crashPoint, wakeups)
            }
            switch connection.checkpointIfDue(copied: reads.copiedPages) {
            case .notDue: break
            case .done: counters.checkpointed()
            case .wanted: reads.requestCheckpoint()
            }
        }
    }

    /// - Returns: false if the batch was rolled back and has to run again with savepoints, because a failed write could
    ///   not be undone alone, or a change that is made after its write has failed. No caller has an answer then.
    @discardableResult
    private func commit(
        _ batch: [Write], isolated: Bool, crashingAt crashPoint: CrashPoint?, _ wakeups: CoalescedWakeups
    ) -> Bool {
        var attempt = 1
        while true {
            do throws(StorageError) {
                return try commitOnce(batch, isolated: isolated, crashingAt: crashPoint, wakeups)
            } catch {
                let mayRunAgain = connection.mayRunAgain
                let isOfOneWrite = connection.record.failure != nil
                connection.rollBack()
                if isOfOneWrite, !isolated { return false }
                attempt += 1
                if mayRunAgain, attempt <= Self.attempts { continue }
                counters.commitFailed()
                counters.note(error)
                for write in batch { write.fail(error) }
                return true
            }
        }
    }

    private func commitOnce(
        _ batch: [Write], isolated: Bool, crashingAt crashPoint: CrashPoint?, _ wakeups: CoalescedWakeups
    ) throws(StorageError) -> Bool {
        try connection.begin(batch.allSatisfy { $0.durability == .relaxed } ? .relaxed : .synced)
        var answers: [@Sendable () -> Void] = []
        answers.reserveCapacity(batch.count)
        var (hasChanges, isFailing) = (false, false)
        for (index, write) in batch.enumerated() {
            var wanted: [WantedKey] = []
            if let key = write.key, connection.record.pending == nil {
                wanted = isolated ? [key] : batch[index...].compactMap(\.key)
            }
            let outcome = try write.perform(connection, isolated, wanted)
            hasChanges = hasChanges || connection.record.hasChanges
            isFailing = isFailing || outcome.isWritingFailing
            guard !outcome.mustBeUndone else {
                connection.rollBack()
                guard batch.count == 1 else { return false }
                if isFailing { counters.writesFailed() }
                // For the crash point it counts as an empty commit.
                crashPoint?.crash()
                outcome.answer()
                return true
            }
            answers.append(outcome.answer)
        }
        // With savepoints each write has written its own changes, and fails alone if that fails.
        if !isolated, case .failure = try connection.perform(isolated: false, { try $0.writePending() }) {
            connection.rollBack()
            return false
        }
        if crashPoint?.moment == .beforeCommit { crashPoint?.crash() }
        let began = ContinuousClock.now
        let (hooks, events) = try connection.commit()
        let time = ContinuousClock.now - began
        if crashPoint?.moment == .afterCommit { crashPoint?.crash() }
        // Some engines notice a full disk only at the commit, and others at each statement.
        if isFailing, !hasChanges { counters.writesFailed() }
        counters.committed(writes: batch.count, hasChanges: hasChanges, in: time)
        // A loop gets the entries and the replies of a commit in one turn, and writes once to each socket.
        wakeups.begin()
        for hook in hooks { hook() }
        if !events.isEmpty { hook.withLock { $0.call }?(events) }
        if let crashPoint, crashPoint.moment == .afterPublish {
            wakeups.deliver()
            crashPoint.crash()
        }
        for answer in answers { answer() }
        wakeups.end()
        return true
    }
}
