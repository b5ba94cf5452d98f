import Contracts
import EventLog

/// An entry of messaging's log that push acts on.
enum PushEvent: Sendable, Equatable {
    /// A message was sent.
    case message(MessageNotice)
    /// A person read messages on one of their devices.
    case reading(userID: String)

    /// Creates an event; nil for an entry without notifications.
    init?(_ entry: LogEntry) {
        switch entry.fact {
        case .messageSent(let id, let senderID, let senderName):
            self = .message(
                MessageNotice(
                    id: id, roomID: entry.roomID, logSeq: entry.seq, senderName: senderName, sentAt: entry.at,
                    recipients: entry.participants.filter { $0 != senderID }))
        case .messagesRead(let userID): self = .reading(userID: userID)
        default: return nil
        }
    }
    /// The people to notify.
    var people: [String] {
        switch self {
        case .message(let message): message.recipients
        case .reading(let userID): [userID]
        }
    }
}
