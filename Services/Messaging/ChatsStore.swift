import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The SQL that reads rooms' chats and the unread counts, in the transaction of a connection. `SendBatch` writes them.
struct ChatsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    private var messages: MessagesStore { MessagesStore(connection) }

    // MARK: Reads

    /// Returns the rooms with messages, the latest change first.
    func chats(of roomIDs: [String]) throws -> [Chat] {
        try connection.all(
            """
            SELECT room_id, last_seq, updated_at FROM chats
            WHERE room_id IN (SELECT value FROM json_each($1))
            ORDER BY updated_at DESC
            """, SQLValue.list(roomIDs)
        ) { Chat(roomID: $0.text(0), lastSeq: $0.int(1), updatedAt: $0.time(2)) }
    }

    /// Returns the summaries by room, without rooms that never had a message.
    func summaries(of roomIDs: [String], for userID: String) throws -> [String: ChatSummary] {
        var summaries: [String: ChatSummary] = [:]
        summaries.reserveCapacity(roomIDs.count)
        try connection.query(
            """
            SELECT \(MessagesStore.columns), chats.room_id, chats.updated_at, coalesce(unread.count, 0)
            FROM chats
            LEFT JOIN unread ON unread.room = chats.number AND unread.user_id = $2
            LEFT JOIN messages ON messages.room = chats.number AND messages.text IS NOT NULL
                AND messages.seq = (
                    SELECT seq FROM messages AS shown
                    WHERE shown.room = chats.number AND shown.text IS NOT NULL
                    ORDER BY seq DESC LIMIT 1)
            WHERE chats.room_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(roomIDs), userID
        ) { row in
            let roomID = row.text(6)
            summaries[roomID] = ChatSummary(
                updatedAt: row.time(7), unread: row.int(8),
                lastMessage: row.isNull(0) ? nil : MessagesStore.message(row, in: roomID))
        }
        return summaries
    }

    /// Returns true if anyone else has ever written in one of the rooms. Another person's first message inserts this
    /// person's row in `unread`, which is never deleted.
    func hasReceived(_ userID: String, in roomIDs: [String]) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM unread
            WHERE user_id = $2 AND room IN (
                SELECT number FROM chats WHERE room_id IN (SELECT value FROM json_each($1)))
            LIMIT 1
            """, SQLValue.list(roomIDs), userID)
    }

    /// Returns the number of a person's unread messages over all rooms.
    func unreadTotal(of userID: String) throws -> Int {
        try connection.first("SELECT coalesce(sum(count), 0) FROM unread WHERE user_id = $1", userID) { $0.int(0) } ?? 0
    }

    // MARK: Conversations

    /// In rooms with at most this many messages, the newest one before a cursor is found by a backward scan; in others
    /// by binary search.
    private static let shortRoom = 64

    /// Returns each room's newest message before a cursor, without rooms that have none.
    func heads(of roomIDs: [String], before cursor: ConversationCursor) throws -> [ConversationHead] {
        let chats = try chats(of: roomIDs)
        let short = chats.filter { $0.lastSeq <= Self.shortRoom }
        // One statement for all of them: a query for each would cost ten times as much.
        var heads = try connection.all(
            """
            SELECT chats.room_id, head.created_at, head.seq, head.id
            FROM chats JOIN messages AS head ON head.room = chats.number AND head.text IS NOT NULL
                AND head.seq = (
                    SELECT seq FROM messages AS earlier
                    WHERE earlier.room = chats.number AND earlier.text IS NOT NULL
                        AND (earlier.created_at < $2 OR (earlier.created_at = $2
                            AND (earlier.seq < $3 OR (earlier.seq = $3 AND earlier.id < $4))))
                    ORDER BY seq DESC LIMIT 1)
            WHERE chats.room_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(short.map(\.roomID)), cursor.createdAt.milliseconds, cursor.seq,
            SQLValue.id(cursor.messageID)
        ) {
            ConversationHead(
                roomID: $0.text(0),
                cursor: ConversationCursor(createdAt: $0.time(1), seq: $0.int(2), messageID: $0.id(3)))
        }
        for chat in chats where chat.lastSeq > Self.shortRoom {
            let end = try firstSeq(notBefore: cursor, in: chat)
            guard let message = try messages.newest(in: chat.roomID, before: end, count: 1).first else { continue }
            heads.append(ConversationHead(roomID: chat.roomID, cursor: ConversationCursor(message)))
        }
        return heads
    }

    /// Returns the lowest `seq` in the room that is not before the cursor.
    ///
    /// Within a room the order of `seq` is the order of cursors, so binary search finds it. An index by time
    /// would find it, too, but would slow every send.
    private func firstSeq(notBefore cursor: ConversationCursor, in chat: Chat) throws -> Int {
        var low = 1
        var high = chat.lastSeq + 1
        while low < high {
            let middle = low + (high - low) / 2
            let message = try messages.oldest(in: chat.roomID, after: middle - 1, before: high, count: 1).first
            if let message, ConversationCursor(message) < cursor { low = message.seq + 1 } else { high = middle }
        }
        return low
    }
}

/// A room's messages in summary.
struct Chat {
    let roomID: String
    let lastSeq: Int
    /// The time at which a message was last sent or deleted.
    let updatedAt: Timestamp
}
