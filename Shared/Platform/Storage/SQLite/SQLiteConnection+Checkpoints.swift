import CSQLite

/// When the write-ahead log is copied into the database.
struct CheckpointPolicy {
    /// Pages in the log after which a reader starts to copy them: 16 MB. Reading slows with the log's length, and each page is
    /// copied once however often it was written: often enough, and not too often.
    private static let pages = 4096
    /// The length from which the writer makes a checkpoint after each commit, whatever it costs:
    /// 128 MB.
    private static let maxPages = 32_768

    /// The log's length after this connection's last commit.
    var logPages = 0
    /// The log's length when a reader was last asked for a checkpoint; 0 if that was before it
    /// restarted.
    private var askedAt = 0
    private var isCopying = false

    /// Under a load without a pause a copy by another thread never reaches the end of the log, which would grow; and a commit that makes a
    /// file longer waits for the file system's journal, too. So once a reader is done, the writer copies what has come since, if that is
    /// not more than what a reader is asked for.
    ///
    /// - Parameter copied: pages that the reader asked last has found or made copied; 0 until it is done.
    mutating func decide(copied: Int) -> CheckpointDecision {
        if logPages >= Self.maxPages { return .done }
        if logPages < askedAt {
            // All was copied, and the log starts anew.
            askedAt = 0
            isCopying = false
        }
        if isCopying, copied > 0 {
            isCopying = false
            if logPages - copied <= Self.pages { return .done }
        }
        guard logPages - askedAt >= Self.pages else { return .notDue }
        askedAt = logPages
        isCopying = true
        return .wanted
    }
}

extension SQLiteConnection {
    /// Observes the log's length after each commit, instead of SQLite's own checkpoints.
    func watchWriteAheadLog() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                // Never nil: it is what is passed below, and lives as long as the connection that calls.
                guard let context else { return SQLITE_OK }
                Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().checkpoints.logPages = Int(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Copies what the write-ahead log holds into the database, as far as that goes without waiting for anyone.
    ///
    /// - Returns: how many pages of the log the database has now; 0 if that is not known.
    func checkpoint() -> Int {
        var copied: Int32 = 0
        // Failing is not an error: nothing is lost, and the next one tries again.
        let code = sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, &copied)
        return code == SQLITE_OK ? Int(max(copied, 0)) : 0
    }

    func liftTimeLimit() {}

    func checkpointIfDue(copied: Int) -> CheckpointDecision {
        let decision = checkpoints.decide(copied: copied)
        if case .done = decision { _ = checkpoint() }
        return decision
    }
}
