import MessageBus

// What each peer may do. Where the bus has no table of peers, anyone may do anything.
extension Broker {
    /// How many refusals a minute are worth a line of the log. A peer that is not what it should be makes as many as it likes.
    private static let maxNoticesPerMinute = 20

    /// Whether the peer may; if not, it has been notified. It stays connected: a service that lacks one right still serves all else.
    func allows(
        _ operation: BusRights.Operation, on subject: String, by peer: BrokerPeer, id: UInt64? = nil, sub: UInt64? = nil
    ) -> Bool {
        guard let rights = peer.rights, !rights.allow(operation, on: subject) else { return true }
        counters.forbidden += 1
        if forbiddenNotices.take(at: now) { notify(.forbidden(peer: peer.name, operation, subject: subject)) }
        refuse(peer, "forbidden", "`\(peer.name)` may not \(operation) `\(subject)`", id: id, sub: sub)
        return false
    }

    /// So many a minute.
    struct NoticeBudget {
        private var minute = -1
        private var count = 0

        mutating func take(at now: Duration) -> Bool {
            let current = Int(now.components.seconds / 60)
            if current != minute { (minute, count) = (current, 0) }
            count += 1
            return count <= Broker.maxNoticesPerMinute
        }
    }
}
