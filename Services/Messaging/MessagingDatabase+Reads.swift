import Contracts
import Storage

extension MessagingDatabase {
    private static func message(_ row: Row) -> Message {
        Message(
            id: row.text(0), roomID: row.text(1), seq: row.int(2), senderID: row.text(3), text: row.text(4),
            createdAt: row.time(5), tempID: row.textOrNil(6))
    }

    /// What was sent with a `tempId`; nil if it was deleted since, or nothing was.
    func sent(as tempID: String, by senderID: String, in roomID: String) throws -> Message? {
        try connection.first(
            """
            SELECT id, room_id, seq, sender_id, text, created_at, temp_id FROM messages
            WHERE room_id = $1 AND sender_id = $2 AND temp_id = $3 AND text IS NOT NULL
            """, roomID, senderID, tempID, body: Self.message)
    }

    /// nil if there is no such message in this room.
    func sender(of messageID: String, in roomID: String) throws -> String? {
        try connection.first(
            "SELECT sender_id FROM messages WHERE id = $1 AND room_id = $2 AND text IS NOT NULL", messageID, roomID
        ) { $0.text(0) }
    }

    /// Newest first.
    func newest(in roomID: String, before seq: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT id, room_id, seq, sender_id, text, created_at, temp_id FROM messages
            WHERE room_id = $1 AND text IS NOT NULL AND seq < $2
            ORDER BY seq DESC LIMIT $3
            """, roomID, seq, count, body: Self.message)
    }

    /// Oldest first.
    func oldest(in roomID: String, after seq: Int, before end: Int, count: Int) throws -> [Message] {
        try connection.all(
            """
            SELECT id, room_id, seq, sender_id, text, created_at, temp_id FROM messages
            WHERE room_id = $1 AND text IS NOT NULL AND seq > $2 AND seq < $3
            ORDER BY seq LIMIT $4
            """, roomID, seq, end, count, body: Self.message)
    }

    /// By message, in the order they were read.
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

    /// Rooms that were ever written in, the latest change first.
    func chats(of roomIDs: [String]) throws -> [Chat] {
        try connection.all(
            """
            SELECT room_id, last_seq, updated_at FROM chats
            WHERE room_id IN (SELECT value FROM json_each($1))
            ORDER BY updated_at DESC
            """, SQLValue.list(roomIDs)
        ) { Chat(roomID: $0.text(0), lastSeq: $0.int(1), updatedAt: $0.time(2)) }
    }

    /// In a room of no more messages its newest one before a place is found by walking back.
    private static let shortRoom = 64

    /// Each room's newest message before a place; a room without one is not among them.
    func heads(of roomIDs: [String], before place: ConversationPlace) throws -> [ConversationHead] {
        let chats = try chats(of: roomIDs)
        let short = chats.filter { $0.lastSeq <= Self.shortRoom }
        // One statement for all of them: a query for each would cost ten times as much.
        var heads = try connection.all(
            """
            SELECT chats.room_id, head.created_at, head.seq, head.id
            FROM chats JOIN messages AS head ON head.room_id = chats.room_id AND head.text IS NOT NULL
                AND head.seq = (
                    SELECT seq FROM messages AS earlier
                    WHERE earlier.room_id = chats.room_id AND earlier.text IS NOT NULL
                        AND (earlier.created_at < $2 OR (earlier.created_at = $2
                            AND (earlier.seq < $3 OR (earlier.seq = $3 AND earlier.id < $4))))
                    ORDER BY seq DESC LIMIT 1)
            WHERE chats.room_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(short.map(\.roomID)), place.createdAt.milliseconds, place.seq, place.messageID
        ) {
            ConversationHead(
                roomID: $0.text(0),
                place: ConversationPlace(createdAt: $0.time(1), seq: $0.int(2), messageID: $0.text(3)))
        }
        for chat in chats where chat.lastSeq > Self.shortRoom {
            let end = try firstSeq(notBefore: place, in: chat)
            guard let message = try newest(in: chat.roomID, before: end, count: 1).first else { continue }
            heads.append(ConversationHead(roomID: chat.roomID, place: ConversationPlace(message)))
        }
        return heads
    }

    /// The first `seq` of a room from which on no message comes before the place.
    ///
    /// The order of `seq` is the order of places within a room, so halving finds it: an index by time would cost every send.
    func firstSeq(notBefore place: ConversationPlace, in chat: Chat) throws -> Int {
        var low = 1
        var high = chat.lastSeq + 1
        while low < high {
            let middle = low + (high - low) / 2
            let message = try oldest(in: chat.roomID, after: middle - 1, before: high, count: 1).first
            if let message, ConversationPlace(message) < place { low = message.seq + 1 } else { high = middle }
        }
        return low
    }

    /// By room; a room that was never written in is not among them.
    func summaries(of roomIDs: [String], for userID: String) throws -> [String: ChatSummary] {
        var summaries: [String: ChatSummary] = [:]
        summaries.reserveCapacity(roomIDs.count)
        try connection.query(
            """
            SELECT messages.id, chats.room_id, messages.seq, messages.sender_id, messages.text, messages.created_at,
                messages.temp_id, chats.updated_at, coalesce(unread.count, 0)
            FROM chats
            LEFT JOIN unread ON unread.room_id = chats.room_id AND unread.user_id = $2
            LEFT JOIN messages ON messages.room_id = chats.room_id AND messages.text IS NOT NULL
                AND messages.seq = (
                    SELECT seq FROM messages AS shown
                    WHERE shown.room_id = chats.room_id AND shown.text IS NOT NULL
                    ORDER BY seq DESC LIMIT 1)
            WHERE chats.room_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(roomIDs), userID
        ) { row in
            summaries[row.text(1)] = ChatSummary(
                updatedAt: row.time(7), unread: row.int(8), lastMessage: row.isNull(0) ? nil : Self.message(row))
        }
        return summaries
    }

    /// Whether anybody else has ever written in one of the rooms. A count of the unread is made by another's first message, and stays.
    func hasReceived(_ userID: String, in roomIDs: [String]) throws -> Bool {
        try connection.first(
            "SELECT 1 FROM unread WHERE user_id = $2 AND room_id IN (SELECT value FROM json_each($1)) LIMIT 1",
            SQLValue.list(roomIDs), userID
        ) { _ in true } ?? false
    }

    /// How many messages a person has not read, over all rooms.
    func unreadTotal(of userID: String) throws -> Int {
        try connection.first("SELECT coalesce(sum(count), 0) FROM unread WHERE user_id = $1", userID) { $0.int(0) } ?? 0
    }

    /// Those of the messages that are there, are others', and were not read by this person; by id.
    func unread(_ messageIDs: [String], of userID: String) throws -> [String: Message] {
        var found: [String: Message] = [:]
        try connection.query(
            """
            SELECT id, room_id, seq, sender_id, text, created_at, temp_id FROM messages
            WHERE id IN (SELECT value FROM json_each($1)) AND text IS NOT NULL AND sender_id <> $2
                AND NOT EXISTS (SELECT 1 FROM receipts WHERE message_id = messages.id AND user_id = $2)
            """, SQLValue.list(messageIDs), userID
        ) { row in
            let message = Self.message(row)
            found[message.id] = message
        }
        return found
    }
}
