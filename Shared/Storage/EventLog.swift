import JSON

/// The log of changes in a service's own database, written in the transaction of the change.
///
/// `seq` counts commits' entries without gaps: a write that is undone takes its numbers with it. What takes a connection
/// belongs to the caller's transaction; what does not has one of its own.
public struct EventLog: Sendable {
    private let database: any Database

    public init(_ database: any Database) { self.database = database }

    static let schema = """
        CREATE TABLE events (
            seq INTEGER PRIMARY KEY,
            at INTEGER NOT NULL,
            room_id TEXT NOT NULL,
            participants TEXT NOT NULL,
            emissions TEXT NOT NULL
        )
        """

    /// Appends an entry, which is handed to the database's `onCommit` hook after the commit.
    ///
    /// - Parameter emissions: an array.
    /// - Returns: the entry's `seq`.
    @discardableResult
    public static func append(
        at: Int, roomID: String, participants: [String], emissions: JSONValue, on connection: any Connection
    ) throws -> Int {
        // The newest entry is never pruned, so the highest number in the table is the highest ever given.
        let seq = try connection.first(
            """
            INSERT INTO events (seq, at, room_id, participants, emissions)
            SELECT coalesce(max(seq), 0) + 1, $1, $2, $3, $4 FROM events
            RETURNING seq
            """, at, roomID, SQLValue.list(participants), emissions
        ) { $0.int(0) }
        guard let seq else { preconditionFailure("an INSERT without a conflict returns its row") }
        connection.entryAppended(
            LogEntry(seq: seq, at: at, roomID: roomID, participants: participants, emissions: emissions))
        return seq
    }

    /// The `seq` of the newest entry; 0 before the first.
    public static func head(on connection: any Connection) throws -> Int {
        try connection.first("SELECT coalesce(max(seq), 0) FROM events") { $0.int(0) } ?? 0
    }

    /// The `seq` of the oldest entry that is still there; nil before the first.
    public static func oldest(on connection: any Connection) throws -> Int? {
        try connection.first("SELECT min(seq) FROM events") { $0.intOrNil(0) } ?? nil
    }

    /// Entries after a position, in order: up to `limit`, and up to about `maxBytes` of emissions, but at least one if
    /// there is one.
    public static func entries(
        since seq: Int, limit: Int, maxBytes: Int = .max, on connection: any Connection
    ) throws -> [LogEntry] {
        var entries: [LogEntry] = []
        var bytes = 0
        try connection.forEachRow(
            "SELECT seq, at, room_id, participants, emissions FROM events WHERE seq > $1 ORDER BY seq LIMIT $2",
            binding: [.int(seq), .int(limit)]
        ) { row in
            let emissions = row.json(4)
            bytes += emissions.bytes.count
            guard entries.isEmpty || bytes <= maxBytes else { return false }
            entries.append(
                LogEntry(
                    seq: row.int(0), at: row.int(1), roomID: row.text(2),
                    participants: row.json(3).array?.compactMap(\.string) ?? [], emissions: emissions))
            return true
        }
        return entries
    }

    public func head() async throws -> Int { try await database.read { try Self.head(on: $0) } }

    public func oldest() async throws -> Int? { try await database.read { try Self.oldest(on: $0) } }

    public func entries(since seq: Int, limit: Int, maxBytes: Int = .max) async throws -> [LogEntry] {
        try await database.read { try Self.entries(since: seq, limit: limit, maxBytes: maxBytes, on: $0) }
    }

    /// Entries deleted in one write, so that others' writes get in between.
    private static let pruneBatch = 1000

    /// Deletes entries from before a time, oldest first, and stops at the first that stays; the newest always does.
    ///
    /// - Parameters:
    ///   - time: milliseconds since 1970, UTC.
    ///   - cursor: the first `seq` that a durable consumer still needs; nil if there is none.
    /// - Returns: how many were deleted.
    @discardableResult
    public func prune(olderThan time: Int, keepingFrom cursor: Int? = nil) async throws -> Int {
        var total = 0
        while true {
            let deleted = try await database.write { connection in
                let end = min(cursor ?? .max, try Self.head(on: connection))
                var last: Int?
                // By position and not by time: an index on time would cost every write, and entries are nearly in order.
                try connection.forEachRow(
                    "SELECT seq, at FROM events ORDER BY seq LIMIT $1", binding: [.int(Self.pruneBatch)]
                ) { row in
                    guard row.int(0) < end, row.int(1) < time else { return false }
                    last = row.int(0)
                    return true
                }
                guard let last else { return 0 }
                return try connection.execute("DELETE FROM events WHERE seq <= $1", last)
            }
            total += deleted
            if deleted < Self.pruneBatch { return total }
        }
    }
}
