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
            SELECT DISTINCT room FROM members
            WHERE NOT EXISTS (SELECT 1 FROM chats WHERE number = room) ORDER BY room
            """
        ) { $0.int(0) }
    }

    private static let isWithoutMessage = "NOT EXISTS (SELECT 1 FROM messages WHERE id = message_id)"

    func receiptsWithoutMessage() throws -> Int {
        try connection.first("SELECT count(*) FROM receipts WHERE \(Self.isWithoutMessage)") { $0.int(0) } ?? 0
    }

    func removeReceiptsWithoutMessage() throws {
        try connection.execute("DELETE FROM receipts WHERE \(Self.isWithoutMessage)")
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

    /// Returns what the stored members of a room have, by person.
    func members(in roomID: String) throws -> [String: MemberCounts] {
        let members = try connection.all(
            """
            SELECT user_id, joined_seq, settled, sent, frontier FROM members
            WHERE room = (SELECT number FROM chats WHERE room_id = $1)
            """, roomID
        ) {
            ($0.id(0), MemberCounts(joinedSeq: $0.int(1), settled: $0.int(2), sent: $0.int(3), frontier: $0.int(4)))
        }
        return Dictionary(uniqueKeysWithValues: members)
    }

    /// Counts what a member should have.
    ///
    /// - Parameter shown: the number of the room's messages that are not deleted.
    func count(_ member: MemberCounts, of userID: String, in roomID: String, shown: Int) throws -> MemberCounts {
        var counted = member
        let unread = try connection.all(
            """
            SELECT seq FROM messages
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND seq > $3 AND \(MessagesStore.isUnread)
            ORDER BY seq
            """, roomID, SQLValue.id(userID), member.joinedSeq
        ) { $0.int(0) }
        counted.settled = shown - unread.count
        if let first = unread.first { counted.frontier = min(counted.frontier, first - 1) }
        counted.sent = try [Kind.shown, .deleted].reduce(0) { sum, kind in
            let sent = try connection.first(
                """
                SELECT count(*) FROM messages
                WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND sender_id = $2 AND seq > $3
                    AND \(kind.rawValue)
                """, roomID, SQLValue.id(userID), member.joinedSeq
            ) { $0.int(0) }
            return sum + (sent ?? 0)
        }
        return counted
    }

    func setMember(_ member: MemberCounts, of userID: String, in roomID: String) throws {
        try connection.execute(
            """
            INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier)
            SELECT number, $2, $3, $4, $5, $6 FROM chats WHERE room_id = $1
            ON CONFLICT (room, user_id) DO UPDATE
            SET settled = excluded.settled, sent = excluded.sent, frontier = excluded.frontier
            """, roomID, SQLValue.id(userID), member.joinedSeq, member.settled, member.sent, member.frontier)
    }

    func setShown(_ shown: Int, of roomID: String) throws {
        try connection.execute("UPDATE chats SET shown = $2 WHERE room_id = $1", roomID, shown)
    }

    func setLastSeq(_ seq: Int, of roomID: String) throws {
        try connection.execute("UPDATE chats SET last_seq = $2 WHERE room_id = $1", roomID, seq)
    }

    func setTime(_ time: Timestamp, of roomID: String) throws {
        try connection.execute("UPDATE chats SET updated_at = $2 WHERE room_id = $1", roomID, time.milliseconds)
    }

    /// Removes a chat without messages, and its members: another room may get its number.
    func removeChat(_ roomID: String) throws {
        try connection.execute(
            "DELETE FROM members WHERE room = (SELECT number FROM chats WHERE room_id = $1)", roomID)
        try connection.execute("DELETE FROM chats WHERE room_id = $1", roomID)
    }
}

/// A member's stored numbers; `SendBatch` says what they mean.
struct MemberCounts: Equatable {
    var joinedSeq = 0
    var settled = 0
    var sent = 0
    var frontier = 0
}
