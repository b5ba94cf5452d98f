import ParlorContracts
import ParlorEventLog
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let sendMessage = RequestDescription(
        "Sends a message.", takes: Messaging.newMessage, gives: Message.schema, statuses: [.created, .ok],
        errors: [.messageNotFound, .invalidField])
}

extension Messaging {
    /// The maximum length is many times a phone's screen. Clients with the older model call the text `content`.
    fileprivate static let newMessage = Fields(
        .either(
            .text("text", length: 1...4000, trimmed: true),
            or: .text("content", length: 1...4000, trimmed: true, note: "Taken in place of `text`.")),
        .optional(.key("tempId", note: "The sender's idempotency key in the room, kept for ever.")))

    /// Sends a message, or returns the one that this sender sent to this room with the same `tempId`.
    func send(_ request: RoomRequest) async throws -> Reply {
        let (text, tempID) = try Self.newMessage.read(request.fields)
        let (room, sender) = (request.room, request.caller.userID)
        let attempt = tempID.map { SendBatch.Attempt(roomID: room.roomID, senderID: sender, tempID: $0) }
        let reply: Reply? = try await request.write(
            holding: 2 * text.utf8.count + 1024, wanting: .send(in: room.roomID, attempt)
        ) { connection in
            let (sends, now) = (connection.pending(SendBatch.self), clock.now())
            let next = sends.nextSeq(in: room.roomID, at: now)
            let message = Message(
                id: ids.next(at: next.at.milliseconds), roomID: room.roomID, seq: next.seq, senderID: sender,
                text: text, createdAt: next.at, tempID: tempID)
            guard try sends.insert(message, attempt, in: room, on: connection) else {
                return try Self.repeated(attempt, in: request, on: connection)
            }
            let json = message.json(in: room)
            let entry = try request.emit(
                [.messageNew(json, from: sender), .messageNewGlobal(message)],
                fact: .messageSent(
                    id: message.id, senderID: sender,
                    senderName: request.caller.firstName ?? request.caller.username),
                at: now, on: connection)
            return Reply(.created, json, position: entry)
        }
        // Throw after the write: an error within it would roll back the other sends of the transaction, and retry them.
        guard let reply else { throw ServiceError.messageNotFound }
        return reply
    }

    /// Answers a retry with the message's current state, and writes and emits nothing.
    ///
    /// - Returns: nil if the message is deleted.
    private static func repeated(
        _ attempt: SendBatch.Attempt?, in request: RoomRequest, on connection: any Connection
    ) throws -> Reply? {
        let messages = MessagesStore(connection)
        guard let message = try attempt.flatMap({ try messages.sent(by: $0) }) else { return nil }
        let surroundings = try messages.surroundings(of: [message], in: request.room)
        // The first answer may have been lost before its event was sent: this one waits for the event too.
        let head = EntryPosition(log: request.logID, seq: try EventLog.head(on: connection))
        return Reply(.ok, message.json(in: request.room, surroundings), position: head, isDuplicate: true)
    }
}
