import ParlorContracts
import ParlorEventLog

/// An entry of messaging's log that push acts on.
enum PushEvent: Sendable, Equatable {
    /// A message was sent.
    case message(MessageNotice)
    /// The unread messages of these people became fewer: they read some on a device, or the sender deleted one.
    case badges(of: [String])

    /// Creates an event; nil for an entry without notifications.
    init?(_ entry: LogEntry) {
        switch entry.fact {
        case .messageSent(let id, let senderID, let senderName):
            self = .message(
                MessageNotice(
                    id: id, roomID: entry.roomID, logSeq: entry.seq, senderName: senderName, sentAt: entry.at,
                    recipients: entry.participants.filter { $0 != senderID }))
        case .messagesRead(let userID): self = .badges(of: [userID])
        case .messageDeleted:
            let people = entry.emissions.compactMap { emission -> String? in
                guard emission.composition == .badges, case .person(let id) = emission.audience else { return nil }
                return id
            }
            guard !people.isEmpty else { return nil }
            self = .badges(of: people)
        default: return nil
        }
    }
    /// The people to notify.
    var people: [String] {
        switch self {
        case .message(let message): message.recipients
        case .badges(let people): people
        }
    }
}
