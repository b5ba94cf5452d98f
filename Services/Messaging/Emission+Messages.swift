import ParlorContracts
import ParlorJSON

extension EventDescription {
    /// The contract's events of messages. `room:badges` is composed, and described, by gateways.
    static let ofMessages = [
        EventDescription("message:new", to: .room, "A message was sent.", .object(["message": Message.schema])),
        EventDescription(
            "message:new:global", to: .everyone, "A message was sent.",
            .object(["roomId": .id, "messageId": .id, "senderId": .id, "messagesUpdatedAt": .time])),
        EventDescription(
            "message:deleted", to: .room, "A message was deleted.",
            .object(["roomId": .id, "messageId": .id, "deletedBy": .id])),
        EventDescription(
            "message:deleted:global", to: .everyone, "A message was deleted.",
            .object(["roomId": .id, "messageId": .id, "deletedBy": .id, "messagesUpdatedAt": .time])),
        EventDescription(
            "messages:read", to: .room, "A person has read messages.",
            .object(["roomId": .id, "userId": .id, "messageIds": .array(of: .id), "readAt": .time])),
    ]
}

/// The contract's events of messages.
extension Emission {
    /// Returns `message:new`, which also ends the sender's typing.
    static func messageNew(_ message: JSONValue, from senderID: String) -> Emission {
        let data = JSONWriter.object(reservingCapacity: message.bytes.count + 16) { $0.member("message", message) }
        return Emission(to: .room, "message:new", data, endsTypingOf: senderID)
    }

    static func messageNewGlobal(_ message: Message) -> Emission {
        Emission(
            to: .everyone, "message:new:global",
            JSONWriter.object {
                $0.member("roomId", message.roomID)
                $0.member("messageId", message.id)
                $0.member("senderId", message.senderID)
                $0.member("messagesUpdatedAt", message.createdAt.isoSeconds)
            })
    }

    static func messageDeleted(_ messageID: String, by userID: String, in roomID: String) -> Emission {
        Emission(
            to: .room, "message:deleted",
            JSONWriter.object {
                $0.member("roomId", roomID)
                $0.member("messageId", messageID)
                $0.member("deletedBy", userID)
            })
    }

    static func messageDeletedGlobal(
        _ messageID: String, by userID: String, in roomID: String, at time: Timestamp
    ) -> Emission {
        Emission(
            to: .everyone, "message:deleted:global",
            JSONWriter.object {
                $0.member("roomId", roomID)
                $0.member("messageId", messageID)
                $0.member("deletedBy", userID)
                $0.member("messagesUpdatedAt", time.isoSeconds)
            })
    }

    static func messagesRead(
        _ messageIDs: [String], by userID: String, in roomID: String, at time: Timestamp, isNarrow: Bool
    ) -> Emission {
        Emission(
            to: .room, "messages:read",
            JSONWriter.object {
                $0.member("roomId", roomID)
                $0.member("userId", userID)
                $0.member("messageIds", messageIDs)
                $0.member("readAt", time.iso)
            }, isNarrow: isNarrow)
    }

    /// Returns `room:badges`, to which the gateway adds other services' badges.
    static func badges(_ unread: Int, of userID: String, in roomID: String) -> Emission {
        Emission(
            to: .person(userID), "room:badges",
            JSONWriter.object {
                $0.member("roomId", roomID)
                $0.member("badges", object: { $0.member("messages", unread) })
            }, composition: .badges)
    }
}
