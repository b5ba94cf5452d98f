import Synchronization

/// Counts of a database's work since it was opened, for metrics.
public struct DatabaseStatistics: Sendable, Equatable {
    /// Reads that ran. Divided by `snapshots`, it shows how many share a snapshot.
    public var reads = 0
    public var snapshots = 0
    /// Writes in commits that succeeded, including writes that failed alone. Divided by `commits`, it shows
    /// how many share a commit.
    public var writes = 0
    public var commits = 0
    /// The time that the commits took, with their syncs.
    public var commitTime: Duration = .zero
    /// Commits that failed, with all of their writes.
    public var failedCommits = 0
    public var checkpoints = 0
    public var queuedWrites = 0
    public var queuedReads = 0

    /// True if writing has failed for a reason that may pass, and no write has succeeded since.
    public var isWritingFailing = false
    /// Says what is damaged, once a read or a write has met it. It stays until the database is opened again.
    public var damage: String?

    public init() {}
}

/// Counts for `DatabaseStatistics`, from several threads.
final class DatabaseCounters: Sendable {
    private let counted = Mutex(DatabaseStatistics())

    var statistics: DatabaseStatistics { counted.withLock { $0 } }

    func didRead() { counted.withLock { $0.reads += 1 } }

    func beganSnapshot() { counted.withLock { $0.snapshots += 1 } }

    /// - Parameters:
    ///   - hasChanges: true if there were changes to write.
    ///   - time: how long the commit took, without the writes before it; on PostgreSQL with those that nobody waited for.
    func committed(writes: Int, hasChanges: Bool, in time: Duration) {
        counted.withLock {
            $0.commits += 1
            $0.commitTime += time
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

    /// Notes that writes failed, each alone, for a reason that may pass, and that none succeeded beside them.
    func writesFailed() { counted.withLock { $0.isWritingFailing = true } }

    /// Notes the damage, if a read or a write failed because of it.
    func note(_ failure: StorageError) {
        guard case .corrupt(let what) = failure else { return }
        counted.withLock { $0.damage = $0.damage ?? what }
    }

    func checkpointed() { counted.withLock { $0.checkpoints += 1 } }
}
