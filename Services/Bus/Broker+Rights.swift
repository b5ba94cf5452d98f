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
        forbid(operation, on: subject, "\(operation) `\(subject)`", peer, id: id, sub: sub)
        return false
    }

    /// Whether the peer may share a subject's events in a queue group. Each event of it goes to one member alone, so a group is its
    /// own service's: whoever joined another's would take a part of its events away.
    func allows(sharing pattern: String, as queue: String, by peer: BrokerPeer, sub: UInt64) -> Bool {
        guard peer.rights != nil, queue != peer.name else { return true }
        forbid(.subscribe, on: pattern, "share `\(pattern)` as `\(queue)`", peer, id: nil, sub: sub)
        return false
    }

    private func forbid(
        _ operation: BusRights.Operation, on subject: String, _ what: String, _ peer: BrokerPeer, id: UInt64?,
        sub: UInt64?
    ) {
        counters.forbidden += 1
        if forbiddenNotices.take(at: now) { notify(.forbidden(peer: peer.name, operation, subject: subject)) }
        refuse(peer, "forbidden", "`\(peer.name)` may not \(what)", id: id, sub: sub)
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
