import Synchronization

/// The connected sockets of one loop, including those that are still being caught up, by their ids and by
/// their sessions.
struct SessionTable {
    private var sockets: [String: SocketSession] = [:]
    private var sessions: [String: [SocketSession]] = [:]

    subscript(id: String) -> SocketSession? { sockets[id] }

    func ofSession(_ id: String) -> [SocketSession] { sessions[id] ?? [] }

    mutating func add(_ session: SocketSession) {
        sockets[session.id] = session
        if let id = session.sessionID { sessions[id, default: []].append(session) }
    }

    mutating func remove(_ session: SocketSession) {
        sockets[session.id] = nil
        guard let id = session.sessionID else { return }
        sessions[id]?.removeAll { $0 === session }
        if sessions[id]?.isEmpty == true { sessions[id] = nil }
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
