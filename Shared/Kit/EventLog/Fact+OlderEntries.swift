import Contracts
import JSON

// Support for entries that older processes wrote before facts existed: they show what happened only in the
// events for clients. Logs contain such entries during a rolling upgrade, for a day after it, and as the
// newest entry of an idle log. This file can be removed a day after the last such process has ended.
extension Fact {
    /// Derives the fact of an older entry from its first emission; nil if it has none.
    ///
    /// The first is enough: those processes wrote `message:new` and `messages:read` before everything else.
    /// For other entries, such as deletions, only the name of the first event is read.
    ///
    /// - Parameter element: the first element of the entry's array. If it is a fact, known here or not, the
    ///   entry is not an older one.
    init?(olderEmission element: JSONValue) {
        guard let emission = element.object, emission["fact"] == nil else { return nil }
        switch emission["event"]?.string {
        case "message:new":
            guard let message = emission["data"]?["message"]?.object, let id = message["id"]?.string,
                let senderID = message["senderId"]?.string
            else { return nil }
            let sender = message["sender"]?.object
            self = .messageSent(
                id: id, senderID: senderID,
                senderName: sender?["firstName"]?.string ?? sender?["username"]?.string ?? "")
        case "messages:read":
            guard let userID = emission["data"]?["userId"]?.string else { return nil }
            self = .messagesRead(userID: userID)
        default: return nil
        }
    }
}
