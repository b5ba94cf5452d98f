import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL of messages and their receipts, in the transaction of a connection. `SendBatch` inserts messages.
///
/// Where it says `room + 0`, the index by room is not to be used: a room may have millions of messages.
struct MessagesStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    // MARK: Reads

    /// Returns the message of an attempt; nil if there is none, or it is deleted.
    func sent(by attempt: SendBatch.Attempt) throws -> Message? {
        try connection.first(
            """
            SELECT \(Self.columns) FROM messages
            WHERE attempt = $1 AND room + 0 = (SELECT number FROM chats WHERE room_id = $2) AND sender_id = $3
                AND temp_id = $4 AND text IS NOT NULL
            """, attempt.hash, attempt.roomID, SQLValue.id(attempt.senderID), attempt.storedTempID
        ) { Self.message($0, in: attempt.roomID) }
    }

    /// Returns a message; nil if there is no such message in this room, or it is deleted.
    func message(_ messageID: String, in roomID: String) throws -> Message? {
        try connection.first(
            """
            SELECT \(Self.columns) FROM messages
            WHERE id = $1 AND room = (SELECT number FROM chats WHERE room_id = $2) AND text IS NOT NULL
            """, SQLValue.id(messageID), roomID
        ) { Self.message($0, in: roomID) }
    }

    /// Returns the senders of messages.
    func senders(of messageIDs: [String]) throws -> Set<String> {
        Set(
            try connection.all(
                "SELECT DISTINCT sender_id FROM messages WHERE id IN (SELECT unhex(value) FROM json_each($1))",
                SQLValue.ids(messageIDs)
            ) { $0.id(0) })
    }

    /// Returns messages before a `seq`, newest first.
    func newest(in roomID: String, before seq: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM messages
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND text IS NOT NULL AND seq < $2
            ORDER BY seq DESC LIMIT $3
            """, roomID, seq, count
        ) { Self.message($0, in: roomID) }
    }

    /// Returns messages between two `seq`s, oldest first.
    func oldest(in roomID: String, after seq: Int, before end: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns) FROM messages
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND text IS NOT NULL AND seq > $2 AND seq < $3
            ORDER BY seq LIMIT $4
            """, roomID, seq, end, count
        ) { Self.message($0, in: roomID) }
    }

    /// Returns those of the ids whose messages exist and were not deleted.
    ///
    /// - Parameter roomID: the room in which the messages have to be; nil for any room.
    func existing(_ messageIDs: [String], in roomID: String?) throws -> [String] {
        try connection.all(
            """
            SELECT id FROM messages
            WHERE id IN (SELECT unhex(value) FROM json_each($1)) AND text IS NOT NULL
                AND (room + 0 = (SELECT number FROM chats WHERE room_id = $2) OR $2 IS NULL)
            """, SQLValue.ids(messageIDs), roomID
        ) { $0.id(0) }
    }

    /// Returns messages of all rooms that were not deleted, in the order of their ids as these are stored.
    func messages(after id: String, limit: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT \(Self.columns), chats.room_id FROM messages JOIN chats ON chats.number = messages.room
            WHERE messages.id > $1 AND messages.text IS NOT NULL ORDER BY messages.id LIMIT $2
            """, SQLValue.id(id), limit
        ) { Self.message($0, in: $0.text(6)) }
    }

    /// Returns what messages of one room show of other rows.
    func surroundings(of messages: [Message], in room: Membership) throws -> MessageSurroundings {
        let receipts = try receipts(of: messages.map(\.id))
        guard room.kind == .group else { return MessageSurroundings(receipts: receipts) }
        let former = Set(messages.map(\.senderID)).subtracting(room.userIDs)
        return MessageSurroundings(
            receipts: receipts, joinedSeqs: try ChatsStore(connection).joinedSeqs(in: room.roomID),
            formerSenders: former.isEmpty ? [:] : try MembersStore(connection).names(of: Array(former)))
    }

    /// Returns receipts by message, in the order of reading.
    func receipts(of messageIDs: [String]) throws -> [String: [Receipt]] {
        var receipts: [String: [Receipt]] = [:]
        try connection.query(
            """
            SELECT message_id, user_id, read_at FROM receipts
            WHERE message_id IN (SELECT unhex(value) FROM json_each($1))
            ORDER BY read_at, user_id
            """, SQLValue.ids(messageIDs)
        ) { row in
            receipts[row.id(0), default: []].append(Receipt(userID: row.id(1), readAt: row.time(2)))
        }
        return receipts
    }

    /// Returns those of the messages that are unread messages of this person's rooms; by id.
    func unread(_ messageIDs: [String], of userID: String) throws -> [String: Message] {
        var found: [String: Message] = [:]
        try connection.query(
            """
            SELECT \(Self.columns), chats.room_id FROM messages JOIN chats ON chats.number = messages.room
            JOIN members ON members.room = chats.number AND members.user_id = $2 AND messages.seq > members.joined_seq
            WHERE messages.id IN (SELECT unhex(value) FROM json_each($1)) AND \(Self.isUnread)
            """, SQLValue.ids(messageIDs), SQLValue.id(userID)
        ) { row in
            let message = Self.message(row, in: row.text(6))
            found[message.id] = message
        }
        return found
    }

    // MARK: Writes

    /// Deletes a message's text. The row stays.
    func erase(_ messageID: String) throws {
        try connection.executeLater("UPDATE messages SET text = NULL WHERE id = $1", SQLValue.id(messageID))
    }

    /// - Returns: the people who had read it.
    func eraseReceipts(of messageID: String) throws -> [String] {
        try connection.all("DELETE FROM receipts WHERE message_id = $1 RETURNING user_id", SQLValue.id(messageID)) {
            $0.id(0)
        }
    }

    /// - Parameter seq: earlier messages, and this one, are left out.
    /// - Returns: the ids of messages that are other people's, in this room, and were not read before; oldest
    ///   first.
    func markRead(
        _ messageIDs: [String], by userID: String, in roomID: String, after seq: Int, at now: Timestamp
    ) throws -> [String] {
        // CROSS JOIN fixes the order of the tables: messages are found by id, and not by a scan of the room.
        try connection.all(
            """
            INSERT INTO receipts (message_id, user_id, read_at)
            SELECT messages.id, $3, $4
            FROM json_each($1) AS given CROSS JOIN messages
            WHERE messages.id = unhex(given.value) AND messages.room + 0 = (SELECT number FROM chats WHERE room_id = $2)
                AND messages.sender_id <> $3 AND messages.text IS NOT NULL AND messages.seq > $5
            ON CONFLICT DO NOTHING
            RETURNING message_id
            """, SQLValue.ids(messageIDs), roomID, SQLValue.id(userID), now.milliseconds, seq
        ) { $0.id(0) }.sorted()
    }

    // MARK: Columns

    /// The condition that a message is shown, not the person's own, and not read by them: `$2` is their short id.
    static let isUnread = """
        messages.text IS NOT NULL AND messages.sender_id <> $2
            AND NOT EXISTS (SELECT 1 FROM receipts WHERE message_id = messages.id AND user_id = $2)
        """

    static let columns = """
        messages.id, messages.seq, messages.sender_id, messages.text, messages.created_at, messages.temp_id
        """

    /// Reads a message from `columns`, which come first.
    static func message(_ row: Row, in roomID: String) -> Message {
        Message(
            id: row.id(0), roomID: roomID, seq: row.int(1), senderID: row.id(2), text: row.text(3),
            createdAt: row.time(4), tempID: row.idOrNil(5))
    }
}
