import Contracts

/// The decision about a message whose notification is due.
enum DeliveryDecision: Sendable, Equatable {
    case send
    /// They have the room open and will surely get it, but that is not known yet.
    case watch
    case drop(Reason)

    enum Reason: String, Sendable, CaseIterable {
        /// Read or deleted meanwhile.
        case unneeded
        /// They have the room open, and the message.
        case open
        case expired
    }

    /// The maximum age of a socket's last activity, in milliseconds.
    static let freshness = 30_000
    /// After which it is looked at again whether a socket still lives, and has it.
    static let watchInterval: Duration = .seconds(5)

    /// - Parameters:
    ///   - isUnread: whether messaging still has it as unread.
    ///   - sockets: the person's that have joined the room, as far as is known.
    static func of(_ job: Job, isUnread: Bool, sockets: [SocketEvidence], at now: Timestamp) -> DeliveryDecision {
        if !isUnread { return .drop(.unneeded) }
        if isExpired(job, at: now) { return .drop(.expired) }
        let alive = sockets.filter { $0.age <= freshness }
        if alive.contains(where: { $0.confirmed >= job.logSeq }) { return .drop(.open) }
        return alive.isEmpty ? .send : .watch
    }

    static func isExpired(_ job: Job, at now: Timestamp) -> Bool { job.sentAt < JobPlan.horizon(at: now) }
}
