import Contracts
import ServiceKit
import Storage

extension Messaging {
    /// Characters of a text after trimming: what a phone's screen shows of one message, many times over.
    private static let textLength = 1...4000

    /// Sends a message, or gives back the one that this sender sent to this room with the same `tempId`.
    func send(_ request: RoomRequest) async throws -> Reply {
        let fields = request.fields
        // Clients with the older model call it `content`.
        let name = fields["text"] == nil && fields["content"] != nil ? "content" : "text"
        let text = try fields.text(name, length: Self.textLength, trimmed: true)
        let tempID = try fields.tempID()
        let (room, sender) = (request.room, request.caller)
        return try await database.write(holding: 2 * text.utf8.count + 1024) { connection in
            let messages = MessagingDatabase(connection)
            if let tempID, let earlier = try messages.sent(as: tempID, by: sender.userID, in: room.roomID) {
                return try Self.repeated(earlier, in: room, messages)
            }
            let place = try messages.takePlace(in: room.roomID, at: clock.now())
            let message = Message(
                id: ids.next(at: place.at.milliseconds), roomID: room.roomID, seq: place.seq, senderID: sender.userID,
                text: text, createdAt: place.at, tempID: tempID)
            try messages.insert(message)
            for participant in room.participants where participant.userID != sender.userID {
                try messages.addUnread(of: participant.userID, in: room.roomID)
            }
            let json = message.json(in: room)
            let position = try Self.tell(
                [.messageNew(json, from: sender.userID), .messageNewGlobal(message)], in: room, at: place.at,
                on: connection)
            return Reply(.created, json, position: position)
        }
    }

    /// Answers a retry: nothing is written or told again.
    private static func repeated(
        _ earlier: MessagingDatabase.Sent, in room: Membership, _ messages: MessagingDatabase
    ) throws -> Reply {
        guard case .message(let message) = earlier else { throw ServiceError.messageNotFound }
        let receipts = try messages.receipts(of: [message.id])[message.id] ?? []
        // The first answer may have been lost before its event went out: this one waits for it too.
        let head = try EventLog.head(on: messages.connection)
        return Reply(
            .ok, message.json(in: room, readBy: receipts),
            position: StreamPosition(stream: MessagingService.name, seq: head), isDuplicate: true)
    }
}
