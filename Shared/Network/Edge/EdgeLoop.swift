import Glibc
import ParlorHTTP
import ParlorReactor
import ParlorSecurity
import ParlorSocketIO

/// The part of an `EdgeServer` on one loop: its connections, its sessions, its delegates.
final class EdgeLoop {
    let loop: EventLoop
    let configuration: EdgeConfiguration
    let endpoints: [ServedEndpoint]
    let counters: EdgeCounters
    let usage: ClientUsage
    let randomness: any Randomness
    let requests: any RequestDelegate
    /// Nil if the server has no Socket.IO endpoint.
    let sockets: (any SocketDelegate)?
    let shares: TimeShares
    private let evictions: Evictions
    /// The loops of the server, by index. Emptied by the drain, as it is a reference cycle.
    var all: [LoopBound<EdgeLoop>] = []

    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    private var webSocketCount = 0
    private var sessions: [String: EngineConnection] = [:]
    private var waiting: WaitingClients
    private(set) var isDraining = false
    private var onDrained: (() -> Void)?
    private var drainTimer: LoopTimer?
    private var date = (second: -1, text: "")

    init(
        loop: EventLoop, configuration: EdgeConfiguration, counters: EdgeCounters, usage: ClientUsage,
        evictions: Evictions, randomness: any Randomness, delegates: EdgeServer.Delegates
    ) {
        self.loop = loop
        self.configuration = configuration
        endpoints = configuration.endpoints.map(ServedEndpoint.init)
        self.counters = counters
        self.usage = usage
        self.evictions = evictions
        waiting = WaitingClients(countedIn: evictions[loop.index])
        self.randomness = randomness
        (requests, sockets) = delegates
        shares = TimeShares(percent: configuration.limits.loopTimePerAddress, on: loop)
    }

    /// The `Date` header of responses, formatted once a second.
    var httpDate: String {
        let second = time(nil)
        if second != date.second { date = (second, HTTPDate.string(unixTime: second)) }
        return date.text
    }

    /// Returns the endpoint at a path, or nil for the path of a plain request.
    func endpoint(at path: String) -> ServedEndpoint? { endpoints.first { $0.matches(path) } }

    // MARK: Connections

    /// The reason why a connection is refused.
    struct Refusal {
        /// The whole answer, after which the connection ends.
        let answer: [UInt8]
    }

    /// Counts a connection that has arrived. At the total limit, it replaces one that waits.
    func admit(connectionFrom peer: IPAddress) -> Refusal? {
        let address = configuration.countedAddress(of: peer)
        do throws(ClientUsage.Excess) {
            try admit(inPlaceOf: .waitingConnection, .unconnectedWebSocket) { beyond throws(ClientUsage.Excess) in
                try usage.addConnection(of: address, beyond: beyond)
            }
            return nil
        } catch {
            counters.refusedConnections.note(error)
            let response = refusal(because: error)
            return Refusal(
                answer: response.encode(keepAlive: false, headOnly: false, date: httpDate).flatMap { $0 })
        }
    }

    private func refusal(because excess: ClientUsage.Excess) -> HTTPResponse {
        let failure = HTTPFailure(excess, of: "connections", requestID: RequestID.of(nil, randomness: randomness))
        var response = response(to: failure)
        response.headers.add(RequestID.header, failure.requestID)
        return response
    }

    /// The delegate's response to a request that is refused here, with the time to wait.
    func response(to failure: HTTPFailure) -> HTTPResponse {
        var response = requests.response(to: failure)
        if let seconds = failure.retryAfter, !response.headers.contains("Retry-After") {
            response.headers.add("Retry-After", String(seconds))
        }
        return response
    }

    /// Counts a newcomer. At the total limit, the loop with the most waiting clients evicts one for it.
    ///
    /// - Parameters:
    ///   - kinds: the clients that may be evicted. The first kind of which there are any is chosen.
    ///   - count: counts the newcomer, unless the total would then exceed its limit by more than `beyond`.
    private func admit(
        inPlaceOf kinds: Evictions.Kind..., count: (_ beyond: Int) throws(ClientUsage.Excess) -> Void
    ) throws(ClientUsage.Excess) {
        do throws(ClientUsage.Excess) {
            return try count(0)
        } catch {
            if error != .total { throw error }
        }
        for kind in kinds {
            for index in evictions.loops(with: kind) {
                if index == loop.index {
                    guard evict(kind) else { continue }
                    return try count(Evictions.maxPending)
                }
                if try requestEviction(kind, on: index, count) { return }
            }
        }
        throw .total
    }

    /// Counts a newcomer for whom another loop evicts a client.
    ///
    /// - Returns: false if that is not possible now, because too many such evictions are pending or the server is
    ///   shutting down.
    private func requestEviction(
        _ kind: Evictions.Kind, on index: Int, _ count: (_ beyond: Int) throws(ClientUsage.Excess) -> Void
    ) throws(ClientUsage.Excess) -> Bool {
        // The loops are gone if the server is shutting down.
        guard index < all.count else { return false }
        do throws(ClientUsage.Excess) {
            try count(Evictions.maxPending)
        } catch {
            if error == .total { return false }
            throw error
        }
        evictions[index].notePending(change: 1)
        all[index].enqueue {
            $0.evictions[index].notePending(change: -1)
            _ = $0.evict(kind)
        }
        return true
    }

    /// Evicts the client of this loop that has waited longest.
    ///
    /// - Returns: false if there is none of this kind.
    private func evict(_ kind: Evictions.Kind) -> Bool {
        switch kind {
        case .waitingConnection:
            guard let connection = waiting.longestConnection else { return false }
            counters.refusedConnections.note(.total)
            connection.giveWay()
        case .unconnectedWebSocket, .unconnectedSocket:
            let isWebSocket = kind == .unconnectedWebSocket
            guard let socket = isWebSocket ? waiting.longestWebSocket : waiting.longestSocket else { return false }
            counters.refusedSockets.note(.total)
            socket.close(.overload)
        }
        return true
    }

    /// Records that a connection has no request in progress.
    func noteWaiting(_ connection: HTTPConnection) { waiting.append(connection) }

    func noteBusy(_ connection: HTTPConnection) { waiting.remove(connection) }

    /// Starts to serve a connection that has been admitted.
    func accept(_ channel: Channel) -> HTTPConnection {
        counters.connections.add(1)
        channel.boundUnread(bytes: EdgeLimits.unreadByStranger, for: configuration.writeTimeout * 3)
        return take(HTTPConnection(channel, edge: self))
    }

    private func take(_ connection: HTTPConnection) -> HTTPConnection {
        connections[ObjectIdentifier(connection)] = connection
        return connection
    }

    /// - Parameter goesOn: true if the connection stays counted: on another loop, or as a WebSocket.
    func forget(_ connection: HTTPConnection, goesOn: Bool) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        waiting.retire(connection)
        if !goesOn {
            usage.removeConnection(of: connection.countedAddress)
            counters.connections.add(-1)
        }
        finishDrainIfEmpty()
    }

    /// Adds a WebSocket, which has been counted as an HTTP connection.
    func add(_ webSocket: WebSocketConnection) { webSocketCount += 1 }

    /// Rounds bytes up to a multiple of 4 KiB, and less than 1 KiB down to 0: clients with next to nothing are not
    /// counted.
    static func counted(_ bytes: Int) -> Int {
        let step = 4096
        return bytes < step / 4 ? 0 : (bytes + step - 1) / step * step
    }

    /// Counts what a client has buffered.
    ///
    /// - Parameters:
    ///   - address: nil for a trusted proxy.
    ///   - standing: evaluated only if it makes a difference.
    /// - Returns: the limit that this would exceed, or nil. If a limit is returned, the client stays counted as before.
    func count(
        _ bytes: Int, of address: @autoclosure () -> IPAddress?, in counted: inout ClientUsage.Buffered,
        as standing: @autoclosure () -> ClientUsage.Standing
    ) -> ClientUsage.Excess? {
        let bytes = Self.counted(bytes)
        if bytes == 0, counted.bytes == 0 { return nil }
        return count(
            bytes == 0
                ? ClientUsage.Buffered()
                : ClientUsage.Buffered(bytes: bytes, address: address(), standing: standing()),
            in: &counted)
    }

    /// Counts a client's new amount in the same way. The static `counted(_:)` must have rounded its bytes.
    func count(
        _ after: ClientUsage.Buffered, in counted: inout ClientUsage.Buffered
    ) -> ClientUsage.Excess? {
        if after == counted { return nil }
        do throws(ClientUsage.Excess) {
            try usage.changeBuffer(from: counted, to: after)
            counted = after
            return nil
        } catch {
            counters.refusedBytes.note(error)
            return error
        }
    }

    func forget(_ webSocket: WebSocketConnection) {
        webSocketCount -= 1
        usage.removeConnection(of: webSocket.client.subscriber, as: webSocket.share)
        counters.connections.add(-1)
        finishDrainIfEmpty()
    }

    /// Moves a request to the loop of its session, with the connection and the bytes that came after the
    /// request.
    ///
    /// - Parameter isWhole: false if the other loop still has to decide whether to take the body.
    func move(_ connection: HTTPConnection, with request: HTTPRequest, isWhole: Bool, to index: Int) {
        let target = all[index]
        guard let (detached, parser) = connection.detach() else { return }
        counters.moves.add(1)
        target.loop.attach(detached) { channel in
            let edge = target.object
            let connection = edge.take(HTTPConnection(channel, edge: edge, parser: parser))
            connection.resume(with: request, isWhole: isWhole)
            return connection
        }
    }

    // MARK: Sessions

    /// Counts a socket that is not connected: a new one, or one that has left its last namespace.
    /// `noteUnconnected` or `usage.removeUnconnectedSocket` must follow.
    func addUnconnectedSocket(of client: IPAddress) throws(ClientUsage.Excess) {
        do throws(ClientUsage.Excess) {
            try admit(inPlaceOf: .unconnectedSocket) { beyond throws(ClientUsage.Excess) in
                try usage.addUnconnectedSocket(of: client.subscriber, beyond: beyond)
            }
        } catch {
            counters.refusedSockets.note(error)
            throw error
        }
    }

    /// Retires a session that is no longer an unconnected socket and is about to be released.
    func retire(_ session: EngineConnection) { waiting.retire(session) }

    func noteUnconnected(_ session: EngineConnection) { waiting.append(session) }

    /// Notes that a socket that has not connected has a WebSocket now.
    func noteUpgrade(ofUnconnected session: EngineConnection) {
        waiting.remove(session, hadWebSocket: false)
        waiting.append(session)
    }

    func removeUnconnected(_ session: EngineConnection) {
        waiting.remove(session, hadWebSocket: session.hasWebSocket)
        usage.removeUnconnectedSocket(of: session.handshake.client.subscriber)
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

    /// Returns a session, or nil if it is unknown or belongs to another endpoint.
    func session(_ id: String, at endpoint: ServedEndpoint) -> EngineConnection? {
        guard let session = sessions[id], session.endpoint === endpoint else { return nil }
        return session
    }

    /// Returns the index of a session's loop, or nil for an invalid id or another instance's.
    func loop(ofSession sid: String) -> Int? {
        SessionID(sid, instance: configuration.instance, loopCount: all.count)?.loop
    }

    func session(of request: HTTPRequest, at endpoint: ServedEndpoint) -> EngineConnection? {
        request.queryItems?["sid"].flatMap { session($0, at: endpoint) }
    }

    /// Returns the standing of a request's client: that of a connected socket, or of a signed-in person.
    func standing(of request: HTTPRequest) -> ClientUsage.Standing {
        guard let endpoint = endpoint(at: request.path) else {
            return requests.person(of: request).map { .known(person: $0) } ?? .stranger
        }
        return session(of: request, at: endpoint)?.standing ?? .stranger
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
        for session in Array(sessions.values) { session.close(.draining) }
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
