import Synchronization

/// Which gateways live: each says so once a second, and is taken for dead when it has been silent for too long.
///
/// Silence is counted in turns of our own timer and not in time. When this process was held up, what gateways said
/// meanwhile has yet to be read, and no turn went by either.
final class GatewayLeases: Sendable {
    /// Ten turns are two and a half seconds: two beats may be lost, and what a gateway left is gone within three.
    static let turn: Duration = .milliseconds(250)
    static let maxSilentTurns = 10
    /// An hour: one that was only held up for so long is not expected back.
    static let maxRememberedTurns = 14_400

    private struct Lease {
        var silentTurns = 0
        /// Its rooms are closed, and it has not spoken since.
        var isClosed = false

        var isDead: Bool { silentTurns >= GatewayLeases.maxSilentTurns }
    }

    private let leases = Mutex<[String: Lease]>([:])

    /// - Returns: whether it is back from the dead, and has to say again what is open.
    func heard(from gateway: String) -> Bool {
        leases.withLock { $0.updateValue(Lease(), forKey: gateway)?.isClosed ?? false }
    }

    /// A gateway that has left something behind: it has as long to speak up as one that just spoke.
    func noticed(_ gateway: String) {
        leases.withLock { if $0[gateway] == nil { $0[gateway] = Lease() } }
    }

    /// Counts a turn.
    ///
    /// - Returns: the dead whose rooms have yet to be closed.
    func countTurn() -> [String] {
        leases.withLock { leases in
            for gateway in leases.keys { leases[gateway]?.silentTurns += 1 }
            leases = leases.filter { $0.value.silentTurns < Self.maxRememberedTurns }
            return leases.filter { $0.value.isDead && !$0.value.isClosed }.keys.sorted()
        }
    }

    /// Nobody could be heard: all that are not closed have as long to speak up as if they just had.
    func forgetTurns() {
        leases.withLock { leases in
            for (gateway, lease) in leases where !lease.isClosed { leases[gateway]?.silentTurns = 0 }
        }
    }

    /// The rooms of a gateway are about to be closed. From now on it is asked what is open if it speaks.
    ///
    /// - Returns: whether it is still dead; if not, they are not to be closed.
    func beginClosing(_ gateway: String) -> Bool {
        leases.withLock { leases in
            guard leases[gateway]?.isDead == true else { return false }
            leases[gateway]?.isClosed = true
            return true
        }
    }

    /// They could not be closed: it is tried again at the next turn.
    func failedToClose(_ gateway: String) { leases.withLock { $0[gateway]?.isClosed = false } }
}
