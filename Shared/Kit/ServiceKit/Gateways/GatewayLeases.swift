/// The leases of gateways, counted in turns, without a clock, a bus or a thread.
///
/// Each heartbeat of a gateway renews its lease. The lease ends after `maxSilentTurns` turns without one. A
/// turn is one firing of the owner's timer. A process that is held up counts no turns. So it does not declare
/// a gateway dead only because it has not read that gateway's heartbeats yet.
struct GatewayLeases: Sendable {
    /// The turns of a lease. Thirteen turns of 200 ms end 2.4 to 2.6 s after the last heartbeat. So one heartbeat may
    /// be lost, and the next one late.
    static let maxSilentTurns = 13
    /// The turns after which a silent gateway is forgotten: an hour. If it sends a heartbeat later, it joins.
    static let maxRememberedTurns = 18_000

    private struct Lease {
        var silentTurns = 0
        /// True if the gateway has sent a heartbeat in this lease or an earlier one.
        var hasSpoken: Bool

        var hasEnded: Bool { silentTurns >= GatewayLeases.maxSilentTurns }
    }

    private var leases: [String: Lease] = [:]

    /// The gateways whose lease has not ended, in the order of their ids.
    var alive: [String] { leases.lazy.filter { !$0.value.hasEnded }.map(\.key).sorted() }

    /// Returns true if the lease of a gateway has not ended. It returns false for a gateway that neither sent
    /// a heartbeat nor was expected, or is forgotten.
    func isAlive(_ gateway: String) -> Bool { leases[gateway].map { !$0.hasEnded } ?? false }

    /// Notes a gateway's heartbeat, which renews its lease.
    ///
    /// - Returns: the change in membership; nil if the gateway was alive.
    mutating func renew(_ gateway: String) -> GatewayMembership.Change? {
        let earlier = leases.updateValue(Lease(hasSpoken: true), forKey: gateway)
        guard let earlier else { return .joined(gateway) }
        if earlier.hasEnded { return .returned(gateway) }
        return earlier.hasSpoken ? nil : .joined(gateway)
    }

    /// Begins the lease of a gateway that may be alive and has sent no heartbeat. Has no effect if it has a
    /// lease, ended or not.
    mutating func expect(_ gateway: String) {
        if leases[gateway] == nil { leases[gateway] = Lease(hasSpoken: false) }
    }

    /// Counts a turn in which heartbeats could arrive.
    ///
    /// - Returns: the gateways whose leases end with this turn, in the order of their ids. Each is
    ///   named once.
    mutating func countTurn() -> [String] {
        var ended: [String] = []
        for gateway in leases.keys {
            leases[gateway]?.silentTurns += 1
            if leases[gateway]?.silentTurns == Self.maxSilentTurns { ended.append(gateway) }
        }
        leases = leases.filter { $0.value.silentTurns < Self.maxRememberedTurns }
        return ended.sorted()
    }

    /// Counts a turn in which no heartbeat could arrive: all leases that have not ended are renewed.
    mutating func countDeafTurn() {
        for (gateway, lease) in leases where !lease.hasEnded { leases[gateway]?.silentTurns = 0 }
    }
}
