// What gateways and other services know of Messaging.

extension LogID {
    public static let messaging = LogID("messaging")
}

extension Subject {
    /// For each given person: how many messages are unread, and the text of each given message that is unread.
    public static let unread = "messaging.unread"
    /// Whether anyone but the given person has ever written a message in one of the given rooms.
    public static let answered = "messaging.answered"
    /// Those of the given messages that still exist; with `roomId`, only those in that room.
    public static let existingMessages = "messaging.existing"
}

extension Fact {
    /// A person sent a message to the entry's room. Its text is in the first event.
    public static func messageSent(id: String, senderID: String, senderName: String) -> Fact {
        Fact("messageSent") {
            $0.member("id", id)
            $0.member("senderId", senderID)
            $0.member("senderName", senderName)
        }
    }

    public var messageSent: (id: String, senderID: String, senderName: String)? {
        guard let id = sentMessageID, let senderID = payload["senderId"]?.string,
            let senderName = payload["senderName"]?.string
        else { return nil }
        return (id, senderID, senderName)
    }

    /// The id of the message that was sent; nil for another fact.
    public var sentMessageID: String? { text("id", of: "messageSent") }

    /// A person read messages in the entry's room.
    public static func messagesRead(userID: String) -> Fact {
        Fact("messagesRead") { $0.member("userId", userID) }
    }

    /// The person who read messages; nil for another fact.
    public var messagesReader: String? { text("userId", of: "messagesRead") }

    /// A message of the entry's room was deleted.
    public static func messageDeleted(id: String) -> Fact { Fact("messageDeleted") { $0.member("id", id) } }

    /// The id of the message that was deleted; nil for another fact.
    public var deletedMessageID: String? { text("id", of: "messageDeleted") }
}

extension ShownObject {
    static let membersOfMessages = [
        "id", "roomId", "seq", "senderId", "sender", "receiverId", "text", "content", "createdAt", "readStatus",
        "readBy", "tempId",
    ]
}

extension RateLimit {
    public static let ofMessaging = [
        RateLimit("sends", perPerson: 60, perAddress: 600, seconds: 10, "Messages sent")
    ]
}

extension ErrorCode {
    public static let messageNotFound = ErrorCode("message_not_found", 404)

    static let ofMessaging = [messageNotFound]
}

extension ServiceError {
    public static let messageNotFound = ServiceError(.messageNotFound, "There is no such message in this room.")
}
