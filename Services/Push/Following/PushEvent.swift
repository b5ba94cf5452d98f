import Contracts
import EventLog

/// An entry of messaging's log that push acts on.
enum PushEvent: Sendable, Equatable {
    /// Somebody wrote a message.
    case message(MessageNotice)
    /// Somebody read messages, on one of their devices.
    case reading(userID: String)

    /// nil for an entry that nobody is notified of.
    init?(_ entry: LogEntry) {
        switch entry.fact {
        case .messageSent(let id, let senderID, let senderName):
            self = .message(
                MessageNotice(
                    id: id, roomID: entry.roomID, logSeq: entry.seq, senderName: senderName, sentAt: entry.at,
                    recipients: entry.participants.filter { $0 != senderID }))
        case .messagesRead(let userID): self = .reading(userID: userID)
        case nil: return nil
        }
    }
}

/// A message that others may be notified of. Its text is not kept here: messaging is asked for it when it is sent.
struct MessageNotice: Sendable, Equatable {
    let id: String
    let roomID: String
    /// Its entry's position in messaging's log.
    let logSeq: Int
    let senderName: String
    let sentAt: Timestamp
    /// Everyone in the room but the sender.
    let recipients: [String]
}
