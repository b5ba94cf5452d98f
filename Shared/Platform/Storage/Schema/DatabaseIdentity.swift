/// The random id that a database gets when it is created, and the table that every database has: that of its
/// event log, which the module EventLog writes and reads.
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
    ]

    static func loadOrCreate(on connection: any Connection) throws -> String {
        if let id = try load(on: connection) { return id }
        let id =
            String(UInt64.random(in: .min ... .max), radix: 36) + String(UInt64.random(in: .min ... .max), radix: 36)
        try connection.execute("INSERT INTO database_identity (id) VALUES ($1)", id)
        return id
    }

    /// Returns the id; nil if it has none yet.
    static func load(on connection: any Connection) throws -> String? {
        try connection.first("SELECT id FROM database_identity") { $0.text(0) }
    }

    /// Deletes and inserts the same row. An UPDATE to the same value would leave SQLite's page
    /// unchanged, and nothing would be written.
    static func rewrite(on connection: any Connection) throws {
        // If the row is deleted by hand meanwhile, it stays deleted.
        guard let id = try connection.first("DELETE FROM database_identity RETURNING id", body: { $0.text(0) }) else {
            return
        }
        try connection.execute("INSERT INTO database_identity (id) VALUES ($1)", id)
    }

    /// Deletes the id, so that the database gets a new one when it is opened next.
    static func forget(on connection: any Connection) throws(StorageError) {
        try connection.execute("DELETE FROM database_identity")
    }
}
