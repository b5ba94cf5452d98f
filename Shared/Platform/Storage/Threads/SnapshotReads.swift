import ParlorWorkers
import Synchronization

/// The queue of reads, and their execution: reads that wait together share a snapshot, as writes share a
/// commit.
///
/// Each read is queued before its snapshot begins, so it sees everything committed before it was called.
final class SnapshotReads<Reader: TransactionalConnection>: Sendable {
    private enum Task: Sendable {
        case read(Read)
        case checkpoint
    }

    private struct Read: Sendable {
        /// Runs the body. The returned closure resumes the caller, and is called at once, as a read need not
        /// wait for a commit.
        let perform: @Sendable (Reader) -> @Sendable () -> Void
        let fail: @Sendable (StorageError) -> Void
    }

    /// The limit of reads over one snapshot. Beginning and ending a snapshot costs as much as a short read;
    /// shared by sixteen reads that is a few percent. More would only make the last ones wait for a long one
    /// among the first.
    private static var maxBatch: Int { 16 }
    /// The size that the queue counts for a read: its closure holds ids and no contents.
    private static var readBytes: Int { 1024 }

    private let tasks: BlockingQueue<Task>
    private let readers: Int
    private let counters: DatabaseCounters
    /// The result of the last requested checkpoint; 0 until it is done.
    private let copied = Atomic<Int>(0)

    init(_ configuration: DatabaseConfiguration, counters: DatabaseCounters) {
        tasks = BlockingQueue(
            maxCount: configuration.maxQueuedReads, maxBytes: configuration.maxQueuedReads * Self.readBytes)
        readers = configuration.readers
        self.counters = counters
    }

    var queued: Int { tasks.count }

    func push(
        perform: @escaping @Sendable (Reader) -> @Sendable () -> Void,
        fail: @escaping @Sendable (StorageError) -> Void
    ) throws(StorageError) {
        do {
            try tasks.push(.read(Read(perform: perform, fail: fail)), bytes: Self.readBytes)
        } catch {
            throw StorageError(error)
        }
    }

    /// Requests a checkpoint from a reader. If the queue is full, the request is dropped. The next one comes when the
    /// log has grown by `CheckpointPolicy.pages` more.
    func requestCheckpoint() {
        copied.store(0, ordering: .relaxed)
        try? tasks.push(.checkpoint, bytes: 0)
    }

    var copiedPages: Int { copied.load(ordering: .relaxed) }

    func close() { tasks.close() }

    /// Reads until the queue is closed and empty. Runs on the thread of one reader.
    func run(on connection: Reader) {
        while let batch = tasks.take(atMost: Self.maxBatch, sharedAmong: readers) {
            var reads: [Read] = []
            var isCheckpointDue = false
            for task in batch {
                switch task {
                case .read(let read): reads.append(read)
                case .checkpoint: isCheckpointDue = true
                }
            }
            if !reads.isEmpty { perform(reads, on: connection) }
            // After the snapshot has ended: within it, a checkpoint could not copy later commits.
            if isCheckpointDue {
                copied.store(connection.checkpoint(), ordering: .relaxed)
                counters.checkpointed()
            }
        }
    }

    private func perform(_ reads: [Read], on connection: Reader) {
        // A read changes nothing, so the rollback loses nothing, and a failure of it does not matter.
        defer { connection.rollBack() }
        var isBegun = false
        for (index, read) in reads.enumerated() {
            do throws(StorageError) {
                // An engine may end a snapshot when a statement in it fails. That is the fault of one body,
                // and later ones must not fail for it.
                if !isBegun || connection.hasLostTransaction { try beginSnapshot(on: connection) }
                isBegun = true
                var answer = read.perform(connection)
                // The server disconnected during this read, or before it. Its caller has not been answered yet.
                if connection.mayRunAgain {
                    try beginSnapshot(on: connection)
                    answer = read.perform(connection)
                }
                counters.didRead()
                answer()
            } catch {
                for read in reads[index...] { read.fail(error) }
                return
            }
        }
    }

    private func beginSnapshot(on connection: Reader) throws(StorageError) {
        connection.rollBack()
        try connection.begin()
        counters.beganSnapshot()
    }
}
