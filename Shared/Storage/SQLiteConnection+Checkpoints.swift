import CSQLite

/// When the write-ahead log is copied into the database.
struct CheckpointPolicy {
    /// Pages in the log after which a reader starts to copy them: 16 MB. Reading slows with the log's length, and each page is
    /// copied once however often it was written: often enough, and not too often.
    private static let pages = 4096
    /// How many more there are when the writer copies the rest itself, between commits. Under a load without a pause a copy by another
    /// thread never reaches the end of the log, which would grow; and a commit that makes a file longer waits twice as long for the disk.
    private static let rest = 512

    /// How long the log was after the last commit of the connection.
    var logPages = 0
    /// How long it was when something was last decided.
    private var decidedAt = 0

    mutating func decide() -> CheckpointDecision {
        // The log was copied whole and starts again.
        if logPages < decidedAt { decidedAt = 0 }
        if decidedAt == 0 {
            guard logPages >= Self.pages else { return .notDue }
            decidedAt = logPages
            return .wanted
        }
        guard logPages - decidedAt >= Self.rest else { return .notDue }
        decidedAt = logPages
        return .done
    }
}

extension SQLiteConnection {
    /// Learns after each commit how long the log has become, in the place of SQLite's own checkpoints.
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
    func checkpoint() {
        // Failing is not an error: nothing is lost, and the next one tries again.
        sqlite3_wal_checkpoint_v2(handle, nil, SQLITE_CHECKPOINT_PASSIVE, nil, nil)
    }

    func liftTimeLimit() {}

    func checkpointIfDue() -> CheckpointDecision {
        let decision = checkpoints.decide()
        if case .done = decision { checkpoint() }
        return decision
    }
}
