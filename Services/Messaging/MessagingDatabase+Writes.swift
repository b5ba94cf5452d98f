import Contracts
import Storage

extension MessagingDatabase {
    /// What each send runs; `parlor-bench` measures SQLite with it.
    package enum Send {
        package static let takePlace = """
            INSERT INTO chats (room_id, last_seq, updated_at) VALUES ($1, 1, $2)
            ON CONFLICT (room_id) DO UPDATE SET
                last_seq = chats.last_seq + 1,
                updated_at = CASE WHEN chats.updated_at < $2 THEN $2 ELSE chats.updated_at END
            """
        package static let place = "SELECT last_seq, updated_at FROM chats WHERE room_id = $1"
        package static let insert = """
            INSERT INTO messages (id, room_id, seq, sender_id, text, created_at, temp_id)
            VALUES ($1, $2, $3, $4, $5, $6, $7)
            ON CONFLICT (room_id, sender_id, temp_id) WHERE temp_id IS NOT NULL DO NOTHING
            """
        package static let addUnread = """
            INSERT INTO unread (room_id, user_id, count) VALUES ($1, $2, 1)
            ON CONFLICT (room_id, user_id) DO UPDATE SET count = unread.count + 1
            """
    }

    /// Takes the next `seq` of a room, and a time that is not before the room's last change: the clock may have gone back.
    func takePlace(in roomID: String, at now: Timestamp) throws -> (seq: Int, at: Timestamp) {
        // Two statements, as the second costs SQLite less than a RETURNING, which builds a table for its row.
        try connection.execute(Send.takePlace, roomID, now.milliseconds)
        let place = try connection.first(Send.place, roomID) { (seq: $0.int(0), at: $0.time(1)) }
        guard let place else { preconditionFailure("what was just written is there") }
        return place
    }

    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(_ message: Message) throws -> Bool {
        try connection.execute(
            Send.insert, message.id, message.roomID, message.seq, message.senderID, message.text,
            message.createdAt.milliseconds, message.tempID) == 1
    }

    func addUnread(of userID: String, in roomID: String) throws {
        try connection.execute(Send.addUnread, roomID, userID)
    }

    /// - Returns: what is left.
    func subtractUnread(_ count: Int, of userID: String, in roomID: String) throws -> Int {
        try connection.first(
            "UPDATE unread SET count = count - $3 WHERE room_id = $1 AND user_id = $2 RETURNING count", roomID, userID,
            count
        ) { $0.int(0) } ?? 0
    }

    /// Moves the time of a room's last change.
    ///
    /// - Returns: the time it has now.
    func touch(_ roomID: String, at now: Timestamp) throws -> Timestamp {
        try connection.first(
            """
            UPDATE chats SET updated_at = CASE WHEN updated_at < $2 THEN $2 ELSE updated_at END
            WHERE room_id = $1
            RETURNING updated_at
            """, roomID, now.milliseconds
        ) { $0.time(0) } ?? now
    }

    /// Leaves the row, without what was said.
    func erase(_ messageID: String) throws {
        try connection.execute("UPDATE messages SET text = NULL WHERE id = $1", messageID)
    }

    /// - Returns: who had read it.
    func eraseReceipts(of messageID: String) throws -> [String] {
        try connection.all("DELETE FROM receipts WHERE message_id = $1 RETURNING user_id", messageID) { $0.text(0) }
    }

    /// - Returns: the ids of messages that are others', in this room, and were not read before; oldest first.
    func markRead(
        _ messageIDs: [String], by userID: String, in roomID: String, at now: Timestamp
    ) throws -> [String] {
        // CROSS JOIN keeps the order of the tables: by id, and not through all messages of the room.
        try connection.all(
            """
            INSERT INTO receipts (message_id, user_id, read_at)
            SELECT messages.id, $3, $4
            FROM json_each($1) AS given CROSS JOIN messages
            WHERE messages.id = given.value AND messages.room_id = $2 AND messages.sender_id <> $3
                AND messages.text IS NOT NULL
            ON CONFLICT DO NOTHING
            RETURNING message_id
            """, SQLValue.list(messageIDs), roomID, userID, now.milliseconds
        ) { $0.text(0) }.sorted()
    }
}

extension Row {
    func time(_ column: Int) -> Timestamp { Timestamp(milliseconds: int(column)) }
}
