import Contracts
import JSON

// Entries that a process wrote before there were facts: they say what happened only in what clients are sent. Logs have
// such entries during a rolling upgrade, for a day after it, and as the newest entry of a log in which nothing happens.
// This file can go when no log is read any more that such a process wrote: a day after the last of them has ended.
extension Fact {
    /// Derives the fact of an older entry from its first emission; nil if that stands for no fact.
    ///
    /// The first is enough: those processes put `message:new` and `messages:read` before all else. An entry without a fact,
    /// of a deletion say, costs no more than the name of its first event.
    ///
    /// - Parameter element: the first of the entry's array. If it is a fact, known here or not, the entry is not an older one.
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
