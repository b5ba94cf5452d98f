import Contracts

/// What of messaging's log is of interest here.
enum PushEvent: Sendable, Equatable {
    /// Somebody wrote a message.
    case message(MessageNotice)
    /// Somebody read messages, on one of their devices.
    case reading(userID: String)

    /// What an entry tells.
    static func events(in entry: StreamEntry) -> [PushEvent] {
        entry.emissions.compactMap { emission in
            switch emission.event {
            case "message:new": MessageNotice(emission, in: entry).map { .message($0) }
            case "messages:read": emission.data["userId"]?.string.map { .reading(userID: $0) }
            default: nil
            }
        }
    }
}

/// A message that others may have to be told of. Its text is not kept here: messaging is asked for it when it is sent.
struct MessageNotice: Sendable, Equatable {
    let id: String
    let roomID: String
    /// Its entry's position in messaging's log.
    let logSeq: Int
    let senderName: String
    let sentAt: Timestamp
    /// Everyone in the room but the sender.
    let recipients: [String]

    init?(_ emission: Emission, in entry: StreamEntry) {
        guard let message = emission.data["message"]?.object, let id = message["id"]?.string,
            let senderID = message["senderId"]?.string
        else { return nil }
        let sender = message["sender"]?.object
        self.id = id
        roomID = entry.roomID
        logSeq = entry.seq
        senderName = sender?["firstName"]?.string ?? sender?["username"]?.string ?? ""
        sentAt = entry.at
        recipients = entry.participants.filter { $0 != senderID }
    }
}
