import Reactor
import Synchronization

/// The number of clients that each loop of a server could evict for a newcomer, readable from any thread.
///
/// The limits are the server's, but each loop lists its own clients, and a client can choose its loop by the session
/// that it names. A newcomer may arrive where nobody waits, while thousands wait on another loop. So the loop with the
/// most of them evicts one.
final class Evictions: Sendable {
    /// The clients to choose from.
    enum Kind: Sendable {
        /// Connections that have no request under way.
        case waitingConnection
        /// WebSockets of sockets that have not connected to a namespace.
        case unconnectedWebSocket
        /// Sockets that have not connected to a namespace.
        case unconnectedSocket
    }

    /// The counts of one loop, which changes all but `pending` itself.
    final class Loop: Sendable {
        private let waitingConnections = Atomic<Int>(0)
        private let unconnectedSockets = Atomic<Int>(0)
        /// Evictions that other loops have requested, and that are not done.
        private let pending = Atomic<Int>(0)

        func note(waitingConnections: Int, unconnectedSockets: Int) {
            self.waitingConnections.store(waitingConnections, ordering: .relaxed)
            self.unconnectedSockets.store(unconnectedSockets, ordering: .relaxed)
        }

        func notePending(change: Int) { pending.wrappingAdd(change, ordering: .relaxed) }

        fileprivate func count(_ kind: Kind) -> Int {
            let count =
                switch kind {
                case .waitingConnection: waitingConnections.load(ordering: .relaxed)
                // Some of these may be polling.
                case .unconnectedWebSocket, .unconnectedSocket: unconnectedSockets.load(ordering: .relaxed)
                }
            return count - pending.load(ordering: .relaxed)
        }
    }

    /// The limit of newcomers that are counted beyond a total limit, because the loop that evicts for them has not done
    /// so yet. `EdgeLimits.fitting` reserves descriptors for them.
    static let maxPending = 64

    private let loops: [Loop]

    init(loopCount: Int) { loops = (0..<loopCount).map { _ in Loop() } }

    subscript(index: Int) -> Loop { loops[index] }

    /// Returns the index of the loop with the most clients of a kind; nil if there are none.
    func fullest(_ kind: Kind) -> Int? {
        var fullest: (index: Int, count: Int)?
        for (index, loop) in loops.enumerated() {
            let count = loop.count(kind)
            if count > fullest?.count ?? 0 { fullest = (index, count) }
        }
        return fullest?.index
    }
}
