import Synchronization
import Workers

/// The thread that writes: takes all that is queued, and commits it together.
///
/// Alone, a write is committed at once; while the disk takes its time over one commit, the next one gathers. So one
/// fsync serves as many writes as arrive during the one before it, and nobody waits for a batch to fill.
final class SQLiteWriter: Sendable {
    private struct Write: Sendable {
        /// Runs the body. What it returns answers the caller, after the commit.
        let perform: @Sendable (SQLiteConnection) throws(StorageError) -> @Sendable () -> Void
        let fail: @Sendable (StorageError) -> Void
    }

    /// A type of its own: taken out of a `Mutex` that holds nothing but it, a closure comes back wrapped twice, and is put
    /// back so. After 10,000 commits it lay 20,000 calls deep.
    private struct CommitHook {
        var call: (@Sendable ([LogEntry]) -> Void)?
    }

    /// Pages in the write-ahead log after which a reader starts to copy them into the database: 16 MB. Reading slows with
    /// the log's length, and each page is copied once however often it was written: often enough, and not too often.
    private static let checkpointPages = 4096
    /// Where the writer does it itself, between commits. Under a load without a pause a copy by another thread never
    /// reaches the end of the log, and it grows; here nothing is appended meanwhile. 128 MB.
    private static let maxPages = 32_768

    private let connection: SQLiteConnection
    private let writes: BlockingQueue<Write>
    private let maxBatch: Int
    private let crashPoint: CrashPoint?
    private let counters: SQLiteCounters
    private let requestCheckpoint: @Sendable () -> Void
    private let hook = Mutex(CommitHook())

    init(
        _ connection: SQLiteConnection, configuration: SQLiteConfiguration, counters: SQLiteCounters,
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
        bytes: Int,
        perform: @escaping @Sendable (SQLiteConnection) throws(StorageError) -> @Sendable () -> Void,
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
        var pagesAtLastRequest = 0
        var commits = 0
        while let batch = writes.take(atMost: maxBatch) {
            commits += 1
            commit(batch, crashingAt: commits == crashPoint?.count ? crashPoint : nil)
            let pages = connection.writeAheadPages
            if pages >= Self.maxPages {
                connection.checkpoint()
                counters.checkpointed()
            } else if pages < pagesAtLastRequest {
                // The log was copied whole and starts again.
                pagesAtLastRequest = 0
            } else if pages - pagesAtLastRequest >= Self.checkpointPages {
                pagesAtLastRequest = pages
                requestCheckpoint()
            }
        }
    }

    private func commit(_ batch: [Write], crashingAt crashPoint: CrashPoint?) {
        do throws(StorageError) {
            try connection.begin()
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
        } catch {
            connection.rollBack()
            counters.commitFailed()
            for write in batch { write.fail(error) }
        }
    }
}
