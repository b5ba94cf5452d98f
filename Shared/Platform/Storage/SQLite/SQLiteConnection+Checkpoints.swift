import CParlorSQLite

/// The decision when to copy the write-ahead log into the database.
struct CheckpointPolicy {
    /// The number of pages in the log after which a reader starts to copy them: 16 MB. Reads slow down with
    /// the log's length, and each page is copied once however often it was written, so copying should be
    /// neither too rare nor too frequent.
    private static let pages = 4096
    /// The length from which the writer checkpoints after each commit, whatever it costs: 128 MB.
    private static let maxPages = 32_768

    /// The log's length after this connection's last commit.
    var logPages = 0
    /// The log's length when a reader was last asked for a checkpoint; 0 if the log has restarted since.
    private var askedAt = 0
    private var isCopying = false

    /// Decides who copies the log after a commit.
    ///
    /// Under continuous load a reader's checkpoint never reaches the end of the log, so the log would grow. A
    /// commit that makes the log's file longer also waits for the file system's journal. So when a reader is
    /// done, the writer copies the pages that were added since, if they are no more than `pages`.
    ///
    /// - Parameter copied: the number of pages that the last requested checkpoint has copied or found copied;
    ///   0 until it is done.
    mutating func decide(copied: Int) -> CheckpointDecision {
        if logPages >= Self.maxPages { return .done }
        if logPages < askedAt {
            // Everything was copied, and the log has restarted.
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
    /// Records the log's length after each commit. The hook replaces SQLite's automatic checkpoints.
    func watchWriteAheadLog() {
        sqlite3_wal_hook(
            handle,
            { context, _, _, pages in
                // Never nil: it is passed below, and lives as long as the connection that calls.
                guard let context else { return SQLITE_OK }
                Unmanaged<SQLiteConnection>.fromOpaque(context).takeUnretainedValue().checkpoints.logPages = Int(pages)
                return SQLITE_OK
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Copies the write-ahead log into the database, as far as possible without waiting.
    ///
    /// - Returns: the number of the log's pages that the database has now; 0 if it is not known.
    func checkpoint() -> Int {
        var copied: Int32 = 0
        // A failure is not an error: nothing is lost, and the next checkpoint tries again.
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
