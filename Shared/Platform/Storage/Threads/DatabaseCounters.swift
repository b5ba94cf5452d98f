import Synchronization

/// Counts for `DatabaseStatistics`, from several threads.
final class DatabaseCounters: Sendable {
    private let counted = Mutex(DatabaseStatistics())

    var statistics: DatabaseStatistics { counted.withLock { $0 } }

    func didRead() { counted.withLock { $0.reads += 1 } }

    func beganSnapshot() { counted.withLock { $0.snapshots += 1 } }

    /// - Parameter hasChanges: whether there was anything to be written.
    func committed(writes: Int, hasChanges: Bool) {
        counted.withLock {
            $0.commits += 1
            if hasChanges { $0.isWritingFailing = false }
            $0.writes += writes
        }
    }

    func commitFailed() {
        counted.withLock {
            $0.failedCommits += 1
            $0.isWritingFailing = true
        }
    }

    func checkpointed() { counted.withLock { $0.checkpoints += 1 } }
}
