import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of messages and their receipts, in the transaction of a connection. `SendBatch` inserts messages.
struct MessagesStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Reads

    /// Returns the message that was sent with a `tempId`; nil if there is none, or it is deleted.
    func sent(as tempID: String, by senderID: String, in roomID: String) throws -> Message? {
        try connection.first(
            """
            SELECT \(Self.columns) FROM messages
            WHERE room_id = $1 AND sender_id = $2 AND temp_id = $3 AND text IS NOT NULL
            """, roomID, senderID, tempID, body: Self.message)
    }

    /// Returns a message's sender; nil if there is no such message in this room, or it is deleted.
    func sender(of messageID: String, in roomID: String) throws -> String? {
        try connection.first(
            "SELECT sender_id FROM messages WHERE id = $1 AND room_id = $2 AND text IS NOT NULL", messageID, roomID
        ) { $0.text(0) }
    }

    /// Returns messages before a `seq`, newest first.
    func newest(in roomID: String, before seq: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM messages
            WHERE room_id = $1 AND text IS NOT NULL AND seq < $2
            ORDER BY seq DESC LIMIT $3
            """, roomID, seq, count, body: Self.message)
    }

    /// Returns messages between two `seq`s, oldest first.
    func oldest(in roomID: String, after seq: Int, before end: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM messages
            WHERE room_id = $1 AND text IS NOT NULL AND seq > $2 AND seq < $3
            ORDER BY seq LIMIT $4
            """, roomID, seq, end, count, body: Self.message)
    }

    /// Returns those of the ids whose messages exist and were not deleted.
    ///
    /// - Parameter roomID: the room in which the messages have to be; nil for any room.
    func existing(_ messageIDs: [String], in roomID: String?) throws -> [String] {
        try connection.all(
            """
            SELECT id FROM messages
            WHERE id IN (SELECT value FROM json_each($1)) AND text IS NOT NULL AND room_id = coalesce($2, room_id)
            """, SQLValue.list(messageIDs), roomID
        ) { $0.text(0) }
    }

    /// Returns messages of all rooms that were not deleted, in the order of their ids.
    func messages(after id: String, limit: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM messages
            WHERE id > $1 AND text IS NOT NULL ORDER BY id LIMIT $2
            """, id, limit, body: Self.message)
    }

    /// Returns receipts by message, in the order of reading.
    func receipts(of messageIDs: [String]) throws -> [String: [Receipt]] {
        var receipts: [String: [Receipt]] = [:]
        try connection.query(
            """
            SELECT message_id, user_id, read_at FROM receipts
            WHERE message_id IN (SELECT value FROM json_each($1))
            ORDER BY read_at, user_id
            """, SQLValue.list(messageIDs)
        ) { row in
            receipts[row.text(0), default: []].append(Receipt(userID: row.text(1), readAt: row.time(2)))
        }
        return receipts
    }

    /// Returns those of the messages that exist, are other people's, and were not read by this person; by id.
    func unread(_ messageIDs: [String], of userID: String) throws -> [String: Message] {
        var found: [String: Message] = [:]
        try connection.query(
            """
            SELECT \(Self.columns) FROM messages
            WHERE id IN (SELECT value FROM json_each($1)) AND text IS NOT NULL AND sender_id <> $2
                AND NOT EXISTS (SELECT 1 FROM receipts WHERE message_id = messages.id AND user_id = $2)
            """, SQLValue.list(messageIDs), userID
        ) { row in
            let message = Self.message(row)
            found[message.id] = message
        }
        return found
    }

    // MARK: Writes

    /// Deletes a message's text. The row stays.
    func erase(_ messageID: String) throws {
        try connection.executeLater("UPDATE messages SET text = NULL WHERE id = $1", messageID)
    }

    /// - Returns: the people who had read it.
    func eraseReceipts(of messageID: String) throws -> [String] {
        try connection.all("DELETE FROM receipts WHERE message_id = $1 RETURNING user_id", messageID) { $0.text(0) }
    }

    /// - Returns: the ids of messages that are other people's, in this room, and were not read before; oldest
    ///   first.
    func markRead(
        _ messageIDs: [String], by userID: String, in roomID: String, at now: Timestamp
    ) throws -> [String] {
        // CROSS JOIN fixes the order of the tables: messages are found by id, and not by a scan of the room.
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

    // MARK: Columns

    private static let columns = "id, room_id, seq, sender_id, text, created_at, temp_id"

    /// Reads a message from `columns`, which come first.
    static func message(_ row: Row) -> Message {
        Message(
            id: row.text(0), roomID: row.text(1), seq: row.int(2), senderID: row.text(3), text: row.text(4),
            createdAt: row.time(5), tempID: row.textOrNil(6))
    }
}
