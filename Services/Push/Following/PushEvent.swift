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
        guard let fact = entry.fact else { return nil }
        if let sent = fact.messageSent {
            self = .message(
                MessageNotice(
                    id: sent.id, roomID: entry.roomID, logSeq: entry.key, senderName: sent.senderName, sentAt: entry.at,
                    recipients: entry.participants.filter { $0 != sent.senderID }))
        } else if let reader = fact.messagesReader {
            self = .badges(of: [reader])
        } else if fact.deletedMessageID != nil {
            let people = entry.emissions.compactMap { emission -> String? in
                guard emission.composition == .badges, case .person(let id) = emission.audience else { return nil }
                return id
            }
            guard !people.isEmpty else { return nil }
            self = .badges(of: people)
        } else {
            return nil
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
