import ParlorReactor
import Synchronization

/// The number of clients that each loop of a server could evict for a newcomer, readable from any thread.
///
/// The limits are the server's, but each loop lists its own clients, and a client can choose its loop by the session
/// that it names. A newcomer may arrive where nobody waits, while thousands wait on another loop. So the loop with the
/// most of them evicts one.
final class Evictions: Sendable {
    /// The clients to choose from.
    enum Kind: Sendable {
        /// Connections that have no request in progress.
        case waitingConnection
        /// Sockets with a WebSocket that have not connected to a namespace. Their end frees a connection.
        case unconnectedWebSocket
        /// All sockets that have not connected to a namespace.
        case unconnectedSocket
    }

    /// The counts of one loop. Only that loop sets them, except that other loops raise `pending`.
    final class Loop: Sendable {
        private let waitingConnections = Atomic<Int>(0)
        private let unconnectedWebSockets = Atomic<Int>(0)
        private let unconnectedPollers = Atomic<Int>(0)
        /// Evictions that other loops have requested, and that are not done.
        private let pending = Atomic<Int>(0)

        func note(waitingConnections: Int, unconnectedWebSockets: Int, unconnectedPollers: Int) {
            self.waitingConnections.store(waitingConnections, ordering: .relaxed)
            self.unconnectedWebSockets.store(unconnectedWebSockets, ordering: .relaxed)
            self.unconnectedPollers.store(unconnectedPollers, ordering: .relaxed)
        }

        func notePending(change: Int) { pending.wrappingAdd(change, ordering: .relaxed) }

        fileprivate func count(_ kind: Kind) -> Int {
            let webSockets = unconnectedWebSockets.load(ordering: .relaxed)
            let count =
                switch kind {
                case .waitingConnection: waitingConnections.load(ordering: .relaxed)
                case .unconnectedWebSocket: webSockets
                case .unconnectedSocket: webSockets + unconnectedPollers.load(ordering: .relaxed)
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

    /// Returns the indices of the loops that have clients of a kind, the one with the most first.
    func loops(with kind: Kind) -> [Int] {
        let counts = loops.map { $0.count(kind) }
        return counts.indices.filter { counts[$0] > 0 }.sorted { counts[$0] > counts[$1] }
    }
}
