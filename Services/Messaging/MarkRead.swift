import Contracts
import JSON
import ServiceKit

extension Messaging {
    /// A screen or two of messages: a client that shows more sends more than one request.
    private static let idsInRequest = 1...500

    /// Marks messages as read by the caller; ids that are none of others' messages in this room are passed over.
    func markRead(_ request: RoomRequest) async throws -> Reply {
        let given = try request.fields.strings("messageIds", count: Self.idsInRequest)
        let messageIDs = given.filter(\.mayBeID)
        let (room, reader) = (request.room, request.caller.userID)
        return try await database.write(holding: messageIDs.reduce(1024) { $0 + $1.utf8.count }) { connection in
            let (chats, messages) = (try ChatsStore(connection), MessagesStore(connection))
            let now = clock.now()
            let newlyRead = try messages.markRead(messageIDs, by: reader, in: room.roomID, at: now)
            var reply = Reply(.ok, JSONWriter.object { $0.member("readCount", newlyRead.count) })
            guard !newlyRead.isEmpty else { return reply }
            let unread = try chats.subtractUnread(newlyRead.count, of: reader, in: room.roomID)
            let seq = try request.emit(
                [
                    .messagesRead(newlyRead, by: reader, in: room.roomID, at: now),
                    .badges(unread, of: reader, in: room.roomID),
                ], fact: .messagesRead(userID: reader), at: now, on: connection)
            reply.position = Self.position(seq)
            return reply
        }
    }
}
