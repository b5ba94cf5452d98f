import ParlorContracts
import ParlorEventLog
import ParlorServiceKit

extension RequestDescription {
    static let deleteMessage = RequestDescription(
        "Deletes a message of the caller's.", takes: Messaging.ownMessage,
        errors: [.messageNotFound, .forbidden])
}

extension Messaging {
    fileprivate static let ownMessage = Fields(.id("messageId", orThrow: .messageNotFound))

    /// Deletes one of the caller's own messages. Its `seq` and its `tempId` stay in use. Its text is removed from the log as
    /// well, so that nobody who catches up gets it.
    func delete(_ request: RoomRequest) async throws -> Reply {
        let messageID = try Self.ownMessage.read(request.fields)
        let (room, caller) = (request.room, request.caller)
        return try await request.write(wanting: .settled(by: .all, in: room.roomID)) { connection in
            let messages = MessagesStore(connection)
            guard let message = try messages.message(messageID, in: room.roomID) else {
                throw ServiceError.messageNotFound
            }
            guard message.senderID == caller.userID else {
                throw ServiceError(.forbidden, "Only the sender of a message can delete it.")
            }
            try messages.erase(messageID)
            try EventLog.removeEmissions(quoting: messageID, roomID: room.roomID, on: connection) {
                $0.sentMessageID == messageID
            }
            let readers = Set(try messages.eraseReceipts(of: messageID))
            let (chats, now) = (connection.pending(SendBatch.self), clock.now())
            let change = chats.delete(
                seq: message.seq, of: caller.userID, readBy: readers, in: room.roomID, at: now)
            var emissions: [Emission] = [
                .messageDeleted(messageID, by: caller.userID, in: room.roomID),
                .messageDeletedGlobal(messageID, by: caller.userID, in: room.roomID, at: change.updatedAt),
            ]
            for person in change.unread {
                emissions.append(.badges(person.count, of: person.userID, in: room.roomID))
            }
            let entry = try request.emit(
                emissions, fact: .messageDeleted(id: messageID), at: now, on: connection)
            return Reply(.noContent, position: entry)
        }
    }
}
