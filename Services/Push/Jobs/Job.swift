import Contracts
import Security

/// Something to be sent to one device: a row, from the transaction that moves the cursor until it is sent or not worth it.
struct Job: Sendable, Equatable {
    /// A UUID, and the `apns-id` of every attempt.
    let id: String
    let token: String
    let userID: String
    /// Empty for a silent update of the badge.
    let messageID: String
    let roomID: String
    /// The message's position in messaging's log.
    let logSeq: Int
    let senderName: String
    let sentAt: Timestamp
    let dueAt: Timestamp

    var isBadge: Bool { messageID.isEmpty }
}

/// The time at which a notification is due, and until which it is worth sending.
struct JobPlan: Sendable {
    /// Between two silent updates of one device.
    static let badgeInterval: Duration = .seconds(20)
    /// A message of yesterday is found in the app: nobody is woken for it.
    static let lifetime: Duration = .seconds(86_400)

    /// Messages from before this time are too old.
    static func horizon(at now: Timestamp) -> Timestamp { now.adding(.zero - lifetime) }

    let hold: Duration
    let now: Timestamp
    let ids: UUIDv7Generator

    func alert(_ message: MessageNotice, to token: String, of userID: String) -> Job {
        // Of a clock that is ahead of this one no more than the hold is waited for.
        let dueAt = min(message.sentAt, now).adding(hold)
        return Job(
            id: ids.next(at: now.milliseconds), token: token, userID: userID, messageID: message.id,
            roomID: message.roomID, logSeq: message.logSeq, senderName: message.senderName, sentAt: message.sentAt,
            dueAt: dueAt)
    }

    /// It waits as an alert does: who reads one message reads the next.
    func badge(to token: String, of userID: String, lastSentAt: Timestamp) -> Job {
        // Of a clock that was ahead no more than the interval is waited for.
        let lastSentAt = min(lastSentAt, now)
        return Job(
            id: ids.next(at: now.milliseconds), token: token, userID: userID, messageID: "", roomID: "", logSeq: 0,
            senderName: "", sentAt: now, dueAt: max(now.adding(hold), lastSentAt.adding(Self.badgeInterval)))
    }
}
