import Contracts
import Storage

/// The sends of one transaction, with all the SQL of a send.
///
/// Each takes a place in its room and is counted for those who have not read it; a room's last place and a person's count are written once
/// for all of them. Nobody else writes meanwhile: a database has one transaction at a time that does.
package final class Sends: PendingChanges {
    private struct Chat {
        var lastSeq = 0
        var updatedAt = Timestamp(milliseconds: 0)
        /// To be added to the counts of these people.
        var unread: [String: Int] = [:]
    }

    /// By room.
    private var chats: [String: Chat] = [:]
    private var isWritten = false

    package init() {}

    /// Takes the next `seq` of a room for a message that these people have yet to read, and a time that is not before the room's last
    /// change: the clock may have gone back.
    func takePlace(
        in roomID: String, unreadBy readers: some Sequence<String>, at now: Timestamp, on connection: any Connection
    ) throws -> (seq: Int, at: Timestamp) {
        precondition(!isWritten, "a send after its transaction's were written")
        var chat = try chats.removeValue(forKey: roomID) ?? chat(of: roomID, on: connection)
        chat.lastSeq += 1
        chat.updatedAt = max(chat.updatedAt, now)
        for reader in readers { chat.unread[reader, default: 0] += 1 }
        chats[roomID] = chat
        return (chat.lastSeq, chat.updatedAt)
    }

    private func chat(of roomID: String, on connection: any Connection) throws -> Chat {
        try connection.first(Self.findChat, roomID) { Chat(lastSeq: $0.int(0), updatedAt: $0.time(1)) } ?? Chat()
    }

    /// - Returns: false, with nothing done, if its sender has used its `tempId` in this room before.
    func insert(_ message: Message, on connection: any Connection) throws -> Bool {
        try connection.execute(
            Self.insertMessage, message.id, message.roomID, message.seq, message.senderID, message.text,
            message.createdAt.milliseconds, message.tempID) == 1
    }

    package func write(on connection: any Connection) throws(StorageError) {
        isWritten = true
        for (roomID, chat) in chats {
            try connection.execute(Self.writeChat, roomID, chat.lastSeq, chat.updatedAt.milliseconds)
            for (userID, count) in chat.unread { try connection.execute(Self.writeUnread, roomID, userID, count) }
        }
    }
}

/// What sends run; `parlor-bench` measures SQLite with it.
extension Sends {
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
