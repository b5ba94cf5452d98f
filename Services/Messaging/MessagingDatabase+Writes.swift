import Contracts
import Storage

extension MessagingDatabase {
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
