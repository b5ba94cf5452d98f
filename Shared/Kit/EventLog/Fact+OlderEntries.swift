import Contracts
import JSON

// Entries that a process wrote before there were facts: they say what happened only in what clients are sent. Logs have
// such entries during a rolling upgrade, for a day after it, and as the newest entry of a log in which nothing happens.
// This file can go when no log is read any more that such a process wrote: a day after the last of them has ended.
extension Fact {
    /// Derives the fact of an older entry from its emissions; nil if they tell none.
    ///
    /// - Parameter elements: those of the entry's array, in which there is no fact.
    init?(olderEmissions elements: [JSONValue]) {
        for element in elements {
            guard let emission = element.object, let event = emission["event"]?.string else { continue }
            switch event {
            case "message:new":
                guard let message = emission["data"]?["message"]?.object, let id = message["id"]?.string,
                    let senderID = message["senderId"]?.string
                else { continue }
                let sender = message["sender"]?.object
                self = .messageSent(
                    id: id, senderID: senderID,
                    senderName: sender?["firstName"]?.string ?? sender?["username"]?.string ?? "")
                return
            case "messages:read":
                guard let userID = emission["data"]?["userId"]?.string else { continue }
                self = .messagesRead(userID: userID)
                return
            default: continue
            }
        }
        return nil
    }
}
