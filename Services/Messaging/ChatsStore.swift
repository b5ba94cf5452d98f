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
            SELECT room_id, last_seq, updated_at, shown FROM chats
            WHERE room_id IN (SELECT value FROM json_each($1))
            ORDER BY updated_at DESC
            """, SQLValue.list(roomIDs)
        ) { Chat(roomID: $0.text(0), lastSeq: $0.int(1), updatedAt: $0.time(2), shown: $0.int(3)) }
    }

    /// Returns the summaries by room, without rooms that never had a message.
    func summaries(of roomIDs: [String], for userID: String) throws -> [String: ChatSummary] {
        var summaries: [String: ChatSummary] = [:]
        summaries.reserveCapacity(roomIDs.count)
        try connection.query(
            """
            SELECT \(MessagesStore.columns), chats.room_id, chats.updated_at,
                coalesce(chats.shown - members.settled, 0),
                CASE WHEN chats.shown > members.settled THEN (
                    SELECT seq FROM messages
                    WHERE messages.room = chats.number AND seq > members.frontier AND \(MessagesStore.isUnread)
                    ORDER BY seq LIMIT 1) END
            FROM chats
            LEFT JOIN members ON members.room = chats.number AND members.user_id = $2
            LEFT JOIN messages ON messages.room = chats.number AND messages.text IS NOT NULL
                AND messages.seq = (
                    SELECT seq FROM messages AS shown
                    WHERE shown.room = chats.number AND shown.text IS NOT NULL
                    ORDER BY seq DESC LIMIT 1)
            WHERE chats.room_id IN (SELECT value FROM json_each($1))
            """, SQLValue.list(roomIDs), SQLValue.id(userID)
        ) { row in
            let roomID = row.text(6)
            summaries[roomID] = ChatSummary(
                updatedAt: row.time(7), unread: row.int(8), firstUnreadSeq: row.intOrNil(9),
                lastMessage: row.isNull(0) ? nil : MessagesStore.message(row, in: roomID))
        }
        return summaries
    }

    /// Returns true if a person has written in one of these rooms, which are theirs.
    func hasSent(_ userID: String, in roomIDs: [String]) throws -> Bool {
        try connection.exists(
            """
            SELECT 1 FROM chats JOIN members ON members.room = chats.number AND members.user_id = $2
            WHERE chats.room_id IN (SELECT value FROM json_each($1)) AND members.sent > 0 LIMIT 1
            """, SQLValue.list(roomIDs), SQLValue.id(userID))
    }

    /// Returns the number of a person's unread messages over all rooms.
    func unreadTotal(of userID: String) throws -> Int {
        try connection.first(
            """
            SELECT coalesce(sum(chats.shown - members.settled), 0)
            FROM members JOIN chats ON chats.number = members.room WHERE members.user_id = $1
            """, SQLValue.id(userID)
        ) { $0.int(0) } ?? 0
    }

    /// Returns, for those who came to a room after its first message, the `seq` of the last one from before they came.
    func joinedSeqs(in roomID: String) throws -> [String: Int] {
        var joined: [String: Int] = [:]
        try connection.query(
            """
            SELECT user_id, joined_seq FROM members
            WHERE room = (SELECT number FROM chats WHERE room_id = $1) AND joined_seq > 0
            """, roomID
        ) { joined[$0.id(0)] = $0.int(1) }
        return joined
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
    /// The number of messages that are not deleted.
    let shown: Int
}
