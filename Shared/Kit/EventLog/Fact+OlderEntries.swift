import ParlorContracts

// Support for entries without a fact, from older processes that did not know that fact yet. Only the events for
// clients show what happened. Logs contain such entries during a rolling upgrade, for a day after it, and as the
// newest entry of an idle log. This file can be removed a day after the last such process has ended.
extension Fact {
    /// Derives the fact of an older entry from its first emission; nil if it has none.
    ///
    /// The first emission is enough, because those processes wrote the event of the change before everything else.
    init?(older emission: Emission) {
        let data = emission.data
        switch emission.event {
        case "message:new":
            guard let message = data["message"]?.object, let id = message["id"]?.string,
                let senderID = message["senderId"]?.string
            else { return nil }
            let sender = message["sender"]?.object
            self = .messageSent(
                id: id, senderID: senderID,
                senderName: sender?["firstName"]?.string ?? sender?["username"]?.string ?? "")
        case "messages:read":
            guard let userID = data["userId"]?.string else { return nil }
            self = .messagesRead(userID: userID)
        case "message:deleted":
            guard let id = data["messageId"]?.string else { return nil }
            self = .messageDeleted(id: id)
        case "element:created":
            guard let id = data["element"]?["id"]?.string else { return nil }
            self = .elementCreated(id: id)
        case "element:updated":
            guard let id = data["element"]?["id"]?.string else { return nil }
            self = .elementUpdated(id: id)
        case "element:deleted":
            guard let id = data["elementId"]?.string else { return nil }
            self = .elementDeleted(id: id)
        case "sessions:ended":
            guard let ended = SessionsEnded(data) else { return nil }
            self = .sessionsEnded(ended)
        case "room:cleared": self = .boardCleared
        case "room:created": self = .roomCreated
        case "room:updated": self = .roomRenamed
        default: return nil
        }
    }
}
