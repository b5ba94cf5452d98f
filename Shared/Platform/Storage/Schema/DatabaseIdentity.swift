/// The random id that a database gets when it is created, and the tables that every database has: that of its
/// event log, which the module EventLog writes and reads, and that of the fences of rooms, which is ServiceKit's.
enum DatabaseIdentity {
    private static let migration = Migration(
        version: 1, name: "identity and event log",
        sql: """
            CREATE TABLE database_identity (id TEXT NOT NULL);
            CREATE TABLE events (
                seq INTEGER PRIMARY KEY,
                at INTEGER NOT NULL,
                room_id TEXT NOT NULL,
                participants TEXT NOT NULL,
                emissions TEXT NOT NULL
            )
            """)

    static let migrations = [
        migration,
        Migration(
            version: 2, name: "the event log by room",
            sql: "CREATE INDEX events_by_room ON events (room_id, seq)"),
        Migration(
            version: 3, name: "the request behind an entry",
            sql: "ALTER TABLE events ADD COLUMN request_id TEXT"),
        // Of an entry whose emissions were removed, because what they quote was deleted; NULL for all others.
        Migration(
            version: 4, name: "the digest that an entry was written with",
            sql: "ALTER TABLE events ADD COLUMN digest INTEGER"),
        Migration(
            version: 5, name: "commits without an entry",
            sql: "ALTER TABLE database_identity ADD COLUMN other_commits INTEGER NOT NULL DEFAULT 0"),
        Migration(
            version: 6, name: "several logs",
            sql: """
                ALTER TABLE database_identity ADD COLUMN logs INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE database_identity ADD COLUMN log_generation INTEGER NOT NULL DEFAULT 0
                """),
        Migration(
            version: 7, name: "the fences of rooms",
            sql: "CREATE TABLE room_fences (room_id TEXT PRIMARY KEY, version INTEGER NOT NULL)"),
    ]

    static func loadOrCreate(on connection: any Connection) throws -> String {
        if let id = try load(on: connection) { return id }
        let id =
            String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        // After a restore, too, no number of a log is used again.
        let last = try connection.number("SELECT coalesce(max(seq), 0) FROM events") ?? 0
        try connection.execute(
            "INSERT INTO database_identity (id, log_generation) VALUES ($1, $2)", id,
            LogKeys.log(of: last) / numbersOfGeneration)
        return id
    }

    /// Returns the id; nil if it has none yet.
    static func load(on connection: any Connection) throws -> String? {
        try connection.first("SELECT id FROM database_identity") { $0.text(0) }
    }

    /// Counts a commit that reports no entry of the event log.
    ///
    /// - Returns: the number of such commits; nil if the row was deleted by hand.
    static func countCommit(on connection: any Connection) throws(StorageError) -> Int? {
        try connection.execute("UPDATE database_identity SET other_commits = other_commits + 1")
        return try countedCommits(on: connection)
    }

    static func countedCommits(on connection: any Connection) throws(StorageError) -> Int? {
        try connection.number("SELECT other_commits FROM database_identity")
    }

    /// The SQL that returns the first number of the event logs to which programs write, plus their count.
    static let findLogs = "SELECT \(numbersOfGeneration) * log_generation + logs FROM database_identity"
    /// How many numbers of logs each generation has, as in `LogLayout`.
    private static let numbersOfGeneration = 100

    /// Returns the numbers of the logs (`Database.logs`).
    static func logs(_ found: Int) -> [Int] {
        let count = countLogs(found)
        return (0..<count).map { found - count + $0 }
    }

    static func countLogs(_ found: Int) -> Int { found % numbersOfGeneration }

    /// Begins the next generation of logs.
    static func beginLogs(_ count: Int, on connection: any Connection) throws(StorageError) {
        try connection.execute(
            "UPDATE database_identity SET logs = $1, log_generation = log_generation + 1", binding: [.int(count)])
    }

    /// Deletes the id, so that the database gets a new one when it is opened next.
    static func forget(on connection: any Connection) throws(StorageError) {
        try connection.execute("DELETE FROM database_identity")
    }
}
