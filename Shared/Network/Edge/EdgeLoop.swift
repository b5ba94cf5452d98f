import Glibc
import HTTP
import Reactor
import Security
import SocketIO

/// One loop's share of an `EdgeServer`: its connections, its sessions, its delegate.
final class EdgeLoop {
    let loop: EventLoop
    let configuration: EdgeConfiguration
    let endpoints: [ServedEndpoint]
    let counters: EdgeCounters
    let usage: ClientUsage
    let randomness: any Randomness
    let delegate: any EdgeDelegate
    let shares: TimeShares
    /// Those of all loops, by index. Emptied when drained: it is a cycle.
    var all: [LoopBound<EdgeLoop>] = []

    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var webSocketCount = 0
    private var sessions: [String: EngineConnection] = [:]
    /// Connections that have no request under way, and sockets that have not connected: who has waited longest makes place for a newcomer.
    private var waitingConnections = WaitingList<HTTPConnection>()
    private var pendingSockets = WaitingList<EngineConnection>()
    private(set) var isDraining = false
    private var onDrained: (() -> Void)?
    private var drainTimer: LoopTimer?
    private var date = (second: -1, text: "")

    init(
        loop: EventLoop, configuration: EdgeConfiguration, counters: EdgeCounters, usage: ClientUsage,
        randomness: any Randomness, delegate: any EdgeDelegate
    ) {
        self.loop = loop
        self.configuration = configuration
        endpoints = configuration.endpoints.map(ServedEndpoint.init)
        self.counters = counters
        self.usage = usage
        self.randomness = randomness
        self.delegate = delegate
        shares = TimeShares(percent: configuration.limits.loopTimePerAddress, on: loop)
    }

    /// The `Date` of an answer, made once a second.
    var httpDate: String {
        let second = time(nil)
        if second != date.second { date = (second, HTTPDate.string(unixTime: second)) }
        return date.text
    }

    /// nil: a plain request's path.
    func endpoint(at path: String) -> ServedEndpoint? { endpoints.first { $0.matches(path) } }

    // MARK: Connections

    /// Counts a connection that has arrived.
    ///
    /// - Returns: nil if it may come in; else what it is answered.
    func refusal(ofConnectionFrom peer: IPAddress) -> [UInt8]? {
        let address = configuration.countedAddress(of: peer)
        do throws(ClientUsage.Excess) {
            try withPlace { () throws(ClientUsage.Excess) in try usage.addConnection(of: address) }
            return nil
        } catch {
            counters.refusedConnections.note(error)
            return refusal(because: error).encode(keepAlive: false, headOnly: false, date: httpDate).flatMap { $0 }
        }
    }

    private func refusal(because excess: ClientUsage.Excess) -> HTTPResponse {
        let failure = HTTPFailure(excess, of: "connections", requestID: RequestID.of(nil, randomness: randomness))
        var response = delegate.response(to: failure)
        response.headers.add(RequestID.header, failure.requestID)
        response.headers.add("Retry-After", HTTPFailure.retryAfter)
        return response
    }

    /// Takes a place; where all are taken, those who have waited longest are sent away for it, a few at most.
    private func withPlace(_ take: () throws(ClientUsage.Excess) -> Void) throws(ClientUsage.Excess) {
        for _ in 0..<4 {
            do throws(ClientUsage.Excess) {
                return try take()
            } catch {
                guard error == .total, sendAwayOldest() else { throw error }
            }
        }
        try take()
    }

    private func sendAwayOldest() -> Bool {
        if let connection = waitingConnections.first {
            counters.refusedConnections.note(.total)
            connection.giveWay()
        } else if let socket = pendingSockets.first {
            counters.refusedSockets.note(.total)
            socket.close(.overload)
        } else {
            return false
        }
        return true
    }

    /// A connection has no request under way any more.
    func noteWaiting(_ connection: HTTPConnection) { waitingConnections.append(connection) }

    func noteBusy(_ connection: HTTPConnection) { waitingConnections.remove(connection) }

    /// The connection has been counted when it arrived.
    func accept(_ channel: Channel) -> HTTPConnection {
        let connection = HTTPConnection(channel, edge: self)
        connections[ObjectIdentifier(connection)] = connection
        counters.connections.add(1)
        return connection
    }

    /// - Parameter goesOn: whether the connection stays counted: on another loop, or as a WebSocket.
    func forget(_ connection: HTTPConnection, goesOn: Bool) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        waitingConnections.remove(connection)
        if !goesOn { usage.removeConnection(of: connection.countedAddress) }
        counters.connections.add(-1)
        finishDrainIfEmpty()
    }

    func add(_ webSocket: WebSocketConnection) {
        webSocketCount += 1
        counters.connections.add(1)
    }

    /// Counts what a client has buffered, in steps: whoever has next to nothing costs nothing to count.
    ///
    /// - Parameter address: nil for a trusted proxy.
    /// - Returns: false if the client may not have so much; it stays counted as before.
    func count(_ bytes: Int, of address: IPAddress?, in counted: inout Int, isConnected: Bool) -> Bool {
        let step = 4096
        let bytes = bytes < step / 4 ? 0 : (bytes + step - 1) / step * step
        if bytes == counted { return true }
        do throws(ClientUsage.Excess) {
            try usage.changeBuffer(of: address, from: counted, to: bytes, isConnected: isConnected)
            counted = bytes
            return true
        } catch {
            counters.refusedBytes.note(error)
            return false
        }
    }

    func forget(_ webSocket: WebSocketConnection) {
        webSocketCount -= 1
        usage.removeConnection(of: webSocket.countedAddress)
        counters.connections.add(-1)
        finishDrainIfEmpty()
    }

    /// Hands a request over to the loop of its session, with the connection and what came after the request.
    func move(_ connection: HTTPConnection, with request: HTTPRequest, to index: Int) {
        let target = all[index]
        guard let (detached, received) = connection.detach() else { return }
        counters.moves.add(1)
        target.loop.attach(detached, received: received) { channel in
            let connection = target.object.accept(channel)
            connection.resume(with: request)
            return connection
        }
    }

    // MARK: Sessions

    /// Counts a socket that has not connected yet; `makeSession` or `usage.removePendingSocket` follows.
    func addPendingSocket(of client: IPAddress) throws(ClientUsage.Excess) {
        do throws(ClientUsage.Excess) {
            return try usage.addPendingSocket(of: client.subscriber)
        } catch {
            guard error == .total, let oldest = pendingSockets.first else {
                counters.refusedSockets.note(error)
                throw error
            }
            counters.refusedSockets.note(.total)
            oldest.close(.overload)
        }
        try usage.addPendingSocket(of: client.subscriber)
    }

    func notePending(_ session: EngineConnection) { pendingSockets.append(session) }

    func removePending(_ session: EngineConnection) {
        pendingSockets.remove(session)
        usage.removePendingSocket(of: session.handshake.client.subscriber)
    }

    func makeSession(
        _ transport: EngineSession.Transport, at endpoint: ServedEndpoint, handshake: SocketHandshake
    ) -> EngineConnection {
        let id = SessionID(instance: configuration.instance, loop: loop.index, randomness: randomness)
        let session = EngineConnection(
            EngineSession(id: id.text, transport: transport, configuration: endpoint.engine), at: endpoint,
            handshake: handshake, on: self)
        sessions[id.text] = session
        counters.sockets.add(1)
        return session
    }

    /// nil if it is unknown, or of another endpoint.
    func session(_ id: String, at endpoint: ServedEndpoint) -> EngineConnection? {
        guard let session = sessions[id], session.endpoint === endpoint else { return nil }
        return session
    }

    func forget(_ session: EngineConnection) {
        if sessions.removeValue(forKey: session.engine.id) != nil { counters.sockets.add(-1) }
    }

    // MARK: The end

    func drain(within deadline: Duration, then done: @escaping @Sendable () -> Void) {
        precondition(onDrained == nil, "drained once")
        isDraining = true
        onDrained = done
        all = []
        for session in Array(sessions.values) { session.drain() }
        for connection in Array(connections.values) { connection.drain() }
        drainTimer = loop.schedule(after: deadline) { [weak self] in self?.finishDrain() }
        finishDrainIfEmpty()
    }

    private func finishDrainIfEmpty() {
        if isDraining, connections.isEmpty, webSocketCount == 0 { finishDrain() }
    }

    private func finishDrain() {
        drainTimer?.cancel()
        drainTimer = nil
        let done = onDrained
        onDrained = nil
        done?()
    }
}
