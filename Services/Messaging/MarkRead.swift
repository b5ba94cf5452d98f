import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension RequestDescription {
    static let markRead = RequestDescription(
        "Marks messages as read by the caller.", takes: Messaging.readMessages,
        gives: .object(["readCount": Schema.integer(from: 0).noted("How many were newly read.")]),
        errors: [.invalidField])
}

extension Messaging {
    /// In a room with more people, receipts concern only the reader and the senders.
    private static let maxNotified = 20
    /// At most a screen or two of messages. A client that shows more sends several requests.
    fileprivate static let readMessages = Fields(.strings("messageIds", count: 1...500))

    /// Marks messages as read by the caller, skipping ids that are not other people's messages in this room.
    func markRead(_ request: RoomRequest) async throws -> Reply {
        let given = try Self.readMessages.read(request.fields)
        let messageIDs = given.filter(\.mayBeID)
        let (room, reader) = (request.room, request.caller.userID)
        return try await request.write(
            holding: messageIDs.reduce(1024) { $0 + $1.utf8.count },
            wanting: .settled(by: .one(reader), in: room.roomID)
        ) { connection in
            let (chats, now) = (connection.pending(SendBatch.self), clock.now())
            let newlyRead = try MessagesStore(connection).markRead(
                messageIDs, by: reader, in: room.roomID, after: chats.joinedSeq(of: reader, in: room.roomID), at: now)
            var reply = Reply(.ok, JSONWriter.object { $0.member("readCount", newlyRead.count) })
            guard !newlyRead.isEmpty else { return reply }
            let unread = chats.read(newlyRead.count, by: reader, in: room.roomID)
            var concerned: [String]?
            if room.participants.count > Self.maxNotified {
                let senders = try MessagesStore(connection).senders(of: newlyRead)
                concerned = room.userIDs.filter { $0 == reader || senders.contains($0) }
            }
            reply.position = try request.emit(
                [
                    .messagesRead(newlyRead, by: reader, in: room.roomID, at: now, isNarrow: concerned != nil),
                    .badges(unread, of: reader, in: room.roomID),
                ], concerning: concerned, fact: .messagesRead(userID: reader), at: now, on: connection)
            return reply
        }
    }
}
