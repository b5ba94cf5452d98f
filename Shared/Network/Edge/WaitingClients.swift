import ParlorReactor

/// The clients of one loop that could be evicted for a newcomer: connections that have no request in progress, and
/// sockets that have not connected. The one that has waited longest goes first.
struct WaitingClients {
    private var connections = WaitingList<HTTPConnection>()
    /// The sockets that have a WebSocket, and those that poll.
    private var webSockets = WaitingList<EngineConnection>()
    private var pollers = WaitingList<EngineConnection>()
    /// Where other loops read how many there are.
    private let counts: Evictions.Loop

    init(countedIn counts: Evictions.Loop) { self.counts = counts }

    mutating func append(_ connection: HTTPConnection) { change { $0.connections.append(connection) } }
    mutating func remove(_ connection: HTTPConnection) { change { $0.connections.remove(connection) } }
    mutating func retire(_ connection: HTTPConnection) { change { $0.connections.retire(connection) } }

    mutating func append(_ socket: EngineConnection) {
        change { socket.hasWebSocket ? $0.webSockets.append(socket) : $0.pollers.append(socket) }
    }

    /// - Parameter hadWebSocket: the value of `hasWebSocket` when it was appended.
    mutating func remove(_ socket: EngineConnection, hadWebSocket: Bool) {
        change { hadWebSocket ? $0.webSockets.remove(socket) : $0.pollers.remove(socket) }
    }

    /// Keeps a socket out of the lists for good. It must have left its list.
    func retire(_ socket: EngineConnection) { WaitingList.retire(socket) }

    private mutating func change(_ body: (inout Self) -> Void) {
        body(&self)
        counts.note(
            waitingConnections: connections.count, unconnectedWebSockets: webSockets.count,
            unconnectedPollers: pollers.count)
    }

    /// The connection to evict.
    var longestConnection: HTTPConnection? { connections.first }

    /// The socket to evict if a connection has to become free.
    var longestWebSocket: EngineConnection? { webSockets.first }

    /// The socket to evict.
    var longestSocket: EngineConnection? {
        guard let webSocket = webSockets.first, let poller = pollers.first else {
            return webSockets.first ?? pollers.first
        }
        return webSocket.connectWait.since <= poller.connectWait.since ? webSocket : poller
    }
}

/// A queue of connections or sockets that wait for something from their clients, the longest first. Joining
/// and leaving take constant time.
///
/// A member is in at most one list. The list does not keep it alive, so it must leave before it is released.
struct WaitingList<Member: Waiting> {
    private(set) unowned var first: Member?
    private unowned var last: Member?
    private(set) var count = 0

    /// Appends a member, which must not be in a list. Does nothing for one that has retired.
    mutating func append(_ member: Member) {
        if member.link.isRetired { return }
        precondition(!member.link.isTaken, "a member is in one list, once")
        member.link.isTaken = true
        member.link.previous = last
        if let last { last.link.next = member } else { first = member }
        last = member
        count += 1
    }

    /// Removes a member. Does nothing if it is not in the list.
    mutating func remove(_ member: Member) {
        guard member.link.isTaken else { return }
        let (previous, next) = (member.link.previous, member.link.next)
        member.link = WaitingLink()
        if let previous { previous.link.next = next } else { first = next }
        if let next { next.link.previous = previous } else { last = previous }
        count -= 1
    }

    /// Removes a member permanently before it is released, as the list does not keep it alive.
    mutating func retire(_ member: Member) {
        remove(member)
        Self.retire(member)
    }

    /// Keeps a member that is in no list out of all lists.
    static func retire(_ member: Member) { member.link.isRetired = true }
}

/// A member of a `WaitingList`.
protocol Waiting: AnyObject {
    var link: WaitingLink<Self> { get set }
}

/// A member's links in its list. Only the list uses them.
struct WaitingLink<Member: AnyObject> {
    fileprivate(set) var isTaken = false
    fileprivate var isRetired = false
    fileprivate unowned var previous: Member?
    fileprivate unowned var next: Member?

    init() {}
}
