import Synchronization

/// The connected sockets of one loop, including those that are still being caught up, by their ids and by
/// their sessions.
struct SocketTable {
    private var sockets: [String: ClientSocket] = [:]
    private var bySession: [String: [ClientSocket]] = [:]

    subscript(id: String) -> ClientSocket? { sockets[id] }

    func ofSession(_ id: String) -> [ClientSocket] { bySession[id] ?? [] }

    mutating func add(_ socket: ClientSocket) {
        sockets[socket.id] = socket
        if let id = socket.sessionID { bySession[id, default: []].append(socket) }
    }

    mutating func remove(_ socket: ClientSocket) {
        sockets[socket.id] = nil
        guard let id = socket.sessionID else { return }
        bySession[id]?.removeAll { $0 === socket }
        if bySession[id]?.isEmpty == true { bySession[id] = nil }
    }
}

/// The fronts of all loops, for code that ends sockets on any of them.
package final class SocketFronts: Sendable {
    private let fronts = Mutex<[SocketFront]>([])

    package init() {}

    /// The fronts, set once, before any session ends.
    package var all: [SocketFront] {
        get { fronts.withLock { $0 } }
        set { fronts.withLock { $0 = newValue } }
    }

    /// Ends the sockets of these sessions, on every loop.
    package func endSessions(_ ids: [String]) { for front in all { front.enter { $0.endSessions(ids) } } }
}
