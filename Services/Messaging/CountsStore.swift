import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL that recounts stored numbers, in the transaction of a connection. All of it uses indexes: a room
/// is recounted in a write, which must not delay others.
struct CountsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    enum Kind: String {
        case shown = "text IS NOT NULL"
        case deleted = "text IS NULL"
    }

    /// Returns the ids of rooms in order.
    func roomIDs(after id: String, limit: Int) throws -> [String] {
        try connection.all("SELECT room_id FROM chats WHERE room_id > $1 ORDER BY room_id LIMIT $2", id, limit) {
            $0.text(0)
        }
    }

    func numbersWithoutChat() throws -> [Int] {
        try connection.all(
            """
            SELECT DISTINCT room FROM unread
            WHERE NOT EXISTS (SELECT 1 FROM chats WHERE number = room) ORDER BY room
            """
        ) { $0.int(0) }
    }

    func tally(of roomID: String, _ kind: Kind) throws -> Tally {
        let tally = try connection.first(
            """
            SELECT count(*), coalesce(max(seq), 0), coalesce(max(created_at), 0) FROM messages
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND \(kind.rawValue)
            """, roomID
        ) { Tally(count: $0.int(0), lastSeq: $0.int(1), lastAt: $0.time(2)) }
        guard let tally else { preconditionFailure("an aggregate has a row") }
        return tally
    }

    func countUnread(of userID: String, in roomID: String) throws -> Int {
        try connection.first(
            """
            SELECT count(*) FROM messages
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND text IS NOT NULL AND sender_id <> $2
                AND NOT EXISTS (SELECT 1 FROM receipts WHERE message_id = messages.id AND user_id = $2)
            """, roomID, SQLValue.id(userID)
        ) { $0.int(0) } ?? 0
    }

    /// Returns the stored counts by person.
    func unreadCounts(in roomID: String) throws -> [String: Int] {
        let counts = try connection.all(
            "SELECT user_id, count FROM unread WHERE room = (SELECT number FROM chats WHERE room_id = $1)", roomID
        ) { ($0.text(0), $0.int(1)) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    func setUnread(_ count: Int, of userID: String, in roomID: String) throws {
        try connection.execute(
            """
            INSERT INTO unread (room, user_id, count) SELECT number, $2, $3 FROM chats WHERE room_id = $1
            ON CONFLICT (room, user_id) DO UPDATE SET count = excluded.count
            """, roomID, userID, count)
    }

    func setLastSeq(_ seq: Int, of roomID: String) throws {
        try connection.execute("UPDATE chats SET last_seq = $2 WHERE room_id = $1", roomID, seq)
    }

    func setTime(_ time: Timestamp, of roomID: String) throws {
        try connection.execute("UPDATE chats SET updated_at = $2 WHERE room_id = $1", roomID, time.milliseconds)
    }

    /// Removes a chat without messages, and its counts: another room may get its number.
    func removeChat(_ roomID: String) throws {
        try connection.execute(
            "DELETE FROM unread WHERE room = (SELECT number FROM chats WHERE room_id = $1)", roomID)
        try connection.execute("DELETE FROM chats WHERE room_id = $1", roomID)
    }
}
