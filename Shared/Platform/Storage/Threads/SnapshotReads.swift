import Synchronization
import Workers

/// The reads that wait, and how the threads that read take them: those that wait together share a snapshot, as writes
/// share a commit.
///
/// Each was queued before the snapshot begins, so it still sees all that was committed before it was asked for.
final class SnapshotReads<Reader: TransactionalConnection>: Sendable {
    private enum Task: Sendable {
        case read(Read)
        case checkpoint
    }

    private struct Read: Sendable {
        /// Runs the body. What it returns answers the caller, and is called at once: a read has nothing to wait for.
        let perform: @Sendable (Reader) -> @Sendable () -> Void
        let fail: @Sendable (StorageError) -> Void
    }

    /// Reads over one snapshot. Beginning and ending one costs as much as a short read; shared by sixteen that is a few
    /// percent, and more would only make the last wait for a long one among the first.
    private static var maxBatch: Int { 16 }
    /// A closure that reads holds ids and no contents.
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

    /// Refused if the queue is full; the next commit asks again.
    func requestCheckpoint() {
        copied.store(0, ordering: .relaxed)
        try? tasks.push(.checkpoint, bytes: 0)
    }

    var copiedPages: Int { copied.load(ordering: .relaxed) }

    func close() { tasks.close() }

    /// Until it is closed and all that was queued has been read. For the thread of one reader.
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
            // Not within a snapshot: it could not copy what has been committed since that began.
            if isCheckpointDue {
                copied.store(connection.checkpoint(), ordering: .relaxed)
                counters.checkpointed()
            }
        }
    }

    private func perform(_ reads: [Read], on connection: Reader) {
        // Ends what has changed nothing: it loses nothing, and cannot fail in a way that matters.
        defer { connection.rollBack() }
        var isBegun = false
        for (index, read) in reads.enumerated() {
            do throws(StorageError) {
                // An engine may give a snapshot up when a statement in it fails: that body's fault, and not of those after it.
                if !isBegun || connection.hasLostTransaction { try beginSnapshot(on: connection) }
                isBegun = true
                var answer = read.perform(connection)
                // The server went in the midst of it: nothing was told to anyone yet.
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
        do throws(StorageError) {
            try connection.begin()
        } catch {
            // The server may have gone while nobody looked.
            guard connection.mayRunAgain else { throw error }
            connection.rollBack()
            try connection.begin()
        }
        counters.beganSnapshot()
    }
}
