import ParlorContracts
import ParlorSecurity

/// A notification to send to one device. Its row is inserted in the transaction that stores the position in the log.
/// It is deleted once the notification is sent or not worth sending.
struct Job: Sendable, Equatable {
    /// The id, a UUID that is the `apns-id` of every attempt. An alert's id is a hash of message, person and device. If
    /// a power cut makes the service create the job again, the id is the same, so receivers can recognise the
    /// repetition.
    let id: String
    let token: String
    let userID: String
    /// The message's id; empty for a silent update of the badge.
    let messageID: String
    let roomID: String
    /// The message's position in messaging's log.
    let logSeq: Int
    let senderName: String
    let sentAt: Timestamp
    let dueAt: Timestamp

    var isBadge: Bool { messageID.isEmpty }
}

/// A message of which others may be notified. It does not contain the text, which messaging is asked for when
/// the notification is sent.
struct MessageNotice: Sendable, Equatable {
    let id: String
    let roomID: String
    /// The position of its entry in messaging's log.
    let logSeq: Int
    let senderName: String
    let sentAt: Timestamp
    /// The participants of the room except the sender.
    let recipients: [String]
}

/// The times at which notifications are due, and until which they are worth sending.
struct JobPlan: Sendable {
    /// The interval between two silent updates of one device.
    static let badgeInterval: Duration = .seconds(20)
    /// The time for which a notification is worth sending. Later, the person finds the message in the app.
    static let lifetime: Duration = .seconds(86_400)

    /// Returns the time before which messages are too old.
    static func horizon(at now: Timestamp) -> Timestamp { now.adding(.zero - lifetime) }

    let hold: Duration
    let now: Timestamp
    let ids: UUIDv7Generator

    func alert(_ message: MessageNotice, to token: String, of userID: String) -> Job {
        // If the sender's clock is ahead of this one, wait for no more than the hold.
        let dueAt = min(message.sentAt, now).adding(hold)
        return Job(
            id: UUIDv8.of("\(message.id) \(userID) \(token)"), token: token, userID: userID, messageID: message.id,
            roomID: message.roomID, logSeq: message.logSeq, senderName: message.senderName, sentAt: message.sentAt,
            dueAt: dueAt)
    }

    /// Returns a silent update. It waits like an alert, as a person who reads one message also reads the
    /// next.
    func badge(to token: String, of userID: String, lastSentAt: Timestamp) -> Job {
        // If the clock was ahead, wait for no more than the interval.
        let lastSentAt = min(lastSentAt, now)
        return Job(
            id: ids.next(at: now.milliseconds), token: token, userID: userID, messageID: "", roomID: "", logSeq: 0,
            senderName: "", sentAt: now, dueAt: max(now.adding(hold), lastSentAt.adding(Self.badgeInterval)))
    }
}
