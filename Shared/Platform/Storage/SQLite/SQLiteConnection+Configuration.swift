import CParlorSQLite

extension SQLiteConnection {
    func configure(_ configuration: DatabaseConfiguration, isDurable: Bool) throws(StorageError) {
        try waitForLocks(milliseconds: configuration.busyTimeoutMilliseconds)
        try enterWriteAheadMode(within: configuration.busyTimeoutMilliseconds)
        if isDurable { try setDurability(.synced) } else { try run(script: "PRAGMA synchronous = OFF") }
        try run(
            script: """
                PRAGMA foreign_keys = ON;
                PRAGMA trusted_schema = OFF;
                PRAGMA temp_store = MEMORY;
                PRAGMA journal_size_limit = \(Self.maxIdleLogBytes);
                """)
        switch role {
        case .writer:
            try run(script: "PRAGMA cache_size = -\(Self.writerCacheKilobytes)")
            if let pages = configuration.maxPages { try run(script: "PRAGMA max_page_count = \(pages)") }
            watchWriteAheadLog()
        case .reader:
            try run(script: "PRAGMA query_only = ON")
        }
    }

    /// Sets how long a statement waits for another process, before it fails as `.busy`.
    func waitForLocks(milliseconds: Int) throws(StorageError) {
        try run(script: "PRAGMA busy_timeout = \(milliseconds)")
    }

    /// Sets the durability of later commits. To be called outside of transactions. In write-ahead mode a
    /// commit with `NORMAL` appends to the log and syncs nothing; a later sync, of a commit or a checkpoint,
    /// covers everything appended before it.
    func setDurability(_ durability: Durability) throws(StorageError) {
        try run(script: "PRAGMA synchronous = \(durability == .synced ? "FULL" : "NORMAL")")
        self.durability = durability
    }

    /// Enters write-ahead mode. Several processes on a new file block each other: SQLite then fails
    /// at once, whatever the busy timeout, because waiting could last forever. A failed attempt
    /// releases its locks, so this tries again.
    private func enterWriteAheadMode(within milliseconds: Int) throws(StorageError) {
        let deadline = ContinuousClock.now + .milliseconds(milliseconds)
        while true {
            do throws(StorageError) {
                return try run(script: "PRAGMA journal_mode = WAL")
            } catch {
                // In some cases SQLite has waited for that long itself.
                guard error == .busy, ContinuousClock.now < deadline else { throw error }
            }
            sqlite3_sleep(Self.pauseMilliseconds)
        }
    }

    private static var pauseMilliseconds: Int32 { 5 }

    /// The size of the writer's cache. A batch of a thousand writes touches a few thousand pages: those that
    /// do not fit are written to the log and read back before the commit. The memory is allocated only as it
    /// is used.
    private static var writerCacheKilobytes: Int { 16 << 10 }

    /// The maximum size that the log's file keeps on disk after a burst.
    private static var maxIdleLogBytes: Int { 64 << 20 }
}
