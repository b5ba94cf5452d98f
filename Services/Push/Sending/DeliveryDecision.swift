import ParlorContracts
import ParlorStorage

/// The decision about a message whose notification is due.
enum DeliveryDecision: Sendable, Equatable {
    case send
    /// The person has the room open and will probably get the message, but that is not confirmed yet.
    case watch
    case drop(Reason)

    enum Reason: String, Sendable, CaseIterable {
        /// The message was read or deleted meanwhile.
        case unneeded
        /// The person has the room open, and the message.
        case open
        case expired
    }

    /// The maximum age of a socket's last activity, in milliseconds.
    static let freshness = 30_000
    /// The interval after which it is checked again whether a socket is alive, and has the message.
    static let watchInterval: Duration = .seconds(5)

    /// - Parameters:
    ///   - isUnread: true if the message is still unread in messaging.
    ///   - sockets: the person's known sockets that have joined the room.
    static func of(_ job: Job, isUnread: Bool, sockets: [SocketEvidence], at now: Timestamp) -> DeliveryDecision {
        if !isUnread { return .drop(.unneeded) }
        if isExpired(job, at: now) { return .drop(.expired) }
        let alive = sockets.filter { $0.age <= freshness }
        if alive.contains(where: { $0.confirms(job.logSeq) }) { return .drop(.open) }
        return alive.isEmpty ? .send : .watch
    }

    static func isExpired(_ job: Job, at now: Timestamp) -> Bool { job.sentAt < JobPlan.horizon(at: now) }
}

extension SocketEvidence {
    /// Returns true if the socket certainly has this entry.
    ///
    /// - Parameter key: its number among the entries of all logs.
    fileprivate func confirms(_ key: Int) -> Bool {
        confirmed >= key && LogKeys.log(of: confirmed) == LogKeys.log(of: key)
    }
}
