import ParlorContracts
import ParlorServiceKit
import ParlorStorage

/// The sends of one transaction.
///
/// Each gets a `seq` in its room and is counted for those who have not read it. A room's last `seq` and a
/// person's count are written once for all of them. No other transaction writes meanwhile, as a database has
/// one writing transaction at a time.
final class SendBatch: PendingChanges {
    fileprivate struct Chat {
        var lastSeq = 0
        var updatedAt = Timestamp(milliseconds: 0)
        /// The amounts to add to people's counts.
        var unread: [String: Int] = [:]
        /// False if all sends were retries.
        var hasNew = false
    }

    /// The chats by room.
    private var chats: [String: Chat] = [:]
    private var isWritten = false

    init() {}

    /// Returns the room's next `seq`, for a message that is inserted now, and a time that is not before the
    /// room's last change, as the clock may have gone back.
    func nextSeq(
        in roomID: String, at now: Timestamp, on connection: any Connection
    ) throws -> (seq: Int, at: Timestamp) {
        let chat = try chats[roomID] ?? SendsStore(connection).chat(of: roomID) ?? Chat()
        chats[roomID] = chat
        return (chat.lastSeq + 1, max(chat.updatedAt, now))
    }

    /// Inserts a message with its room's next `seq`, unread by these people.
    ///
    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(
        _ message: Message, unreadBy readers: some Sequence<String>, on connection: any Connection
    ) throws -> Bool {
        precondition(!isWritten, "a send after the batch was written")
        guard try SendsStore(connection).insert(message) else { return false }
        guard var chat = chats.removeValue(forKey: message.roomID), message.seq == chat.lastSeq + 1 else {
            preconditionFailure("the message does not have the seq that nextSeq returned")
        }
        chat.lastSeq = message.seq
        chat.updatedAt = message.createdAt
        chat.hasNew = true
        for reader in readers { chat.unread[reader, default: 0] += 1 }
        chats[message.roomID] = chat
        return true
    }

    func write(on connection: any Connection) throws(StorageError) {
        isWritten = true
        let store = SendsStore(connection)
        for (roomID, chat) in chats where chat.hasNew {
            try store.setChat(roomID, lastSeq: chat.lastSeq, updatedAt: chat.updatedAt)
            for (userID, count) in chat.unread { try store.addUnread(count, of: userID, in: roomID) }
        }
    }
}

/// The SQL of sends, in the transaction of a connection; `parlor-bench` measures SQLite with its statements.
package struct SendsStore {
    let connection: any Connection

    init(_ connection: any Connection) { self.connection = connection }

    /// Returns a room's last `seq` and the time of its last change; nil if it never had a message.
    fileprivate func chat(of roomID: String) throws -> SendBatch.Chat? {
        try connection.first(Self.findChat, roomID) { SendBatch.Chat(lastSeq: $0.int(0), updatedAt: $0.time(1)) }
    }

    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(_ message: Message) throws(StorageError) -> Bool {
        try connection.execute(
            Self.insertMessage, message.id, message.roomID, message.seq, message.senderID, message.text,
            message.createdAt.milliseconds, message.tempID) == 1
    }

    func setChat(_ roomID: String, lastSeq: Int, updatedAt: Timestamp) throws(StorageError) {
        try connection.execute(Self.writeChat, roomID, lastSeq, updatedAt.milliseconds)
    }

    func addUnread(_ count: Int, of userID: String, in roomID: String) throws(StorageError) {
        try connection.execute(Self.writeUnread, roomID, userID, count)
    }

    package static let findChat = "SELECT last_seq, updated_at FROM chats WHERE room_id = $1"
    package static let insertMessage = """
        INSERT INTO messages (id, room_id, seq, sender_id, text, created_at, temp_id)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (room_id, sender_id, temp_id) WHERE temp_id IS NOT NULL DO NOTHING
        """
    package static let writeChat = """
        INSERT INTO chats (room_id, last_seq, updated_at) VALUES ($1, $2, $3)
        ON CONFLICT (room_id) DO UPDATE SET last_seq = $2, updated_at = $3
        """
    package static let writeUnread = """
        INSERT INTO unread (room_id, user_id, count) VALUES ($1, $2, $3)
        ON CONFLICT (room_id, user_id) DO UPDATE SET count = unread.count + $3
        """
}
