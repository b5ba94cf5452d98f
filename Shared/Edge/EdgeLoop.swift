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
    let randomness: any Randomness
    let delegate: any EdgeDelegate
    /// Those of all loops, by index. Emptied when drained: it is a cycle.
    var all: [LoopBound<EdgeLoop>] = []

    private var connections: [ObjectIdentifier: HTTPConnection] = [:]
    /// Those that are no session's.
    private var webSockets: [ObjectIdentifier: WebSocketConnection] = [:]
    private var webSocketCount = 0
    private var sessions: [String: EngineConnection] = [:]
    private(set) var isDraining = false
    private var onDrained: (() -> Void)?
    private var drainTimer: LoopTimer?
    private var date = (second: -1, text: "")

    init(
        loop: EventLoop, configuration: EdgeConfiguration, counters: EdgeCounters, randomness: any Randomness,
        delegate: any EdgeDelegate
    ) {
        self.loop = loop
        self.configuration = configuration
        endpoints = configuration.endpoints.map(ServedEndpoint.init)
        self.counters = counters
        self.randomness = randomness
        self.delegate = delegate
    }

    /// The `Date` of an answer, made once a second.
    var httpDate: String {
        let second = time(nil)
        if second != date.second { date = (second, HTTPDate.string(unixTime: second)) }
        return date.text
    }

    // MARK: Connections

    func accept(_ channel: Channel) -> HTTPConnection {
        let connection = HTTPConnection(channel, edge: self)
        connections[ObjectIdentifier(connection)] = connection
        counters.connections.add(1)
        return connection
    }

    func forget(_ connection: HTTPConnection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        counters.connections.add(-1)
        finishDrainIfEmpty()
    }

    func add(_ webSocket: WebSocketConnection) {
        webSocketCount += 1
        counters.connections.add(1)
    }

    /// Lists it, as one that no session closes.
    func addPlain(_ webSocket: WebSocketConnection) { webSockets[ObjectIdentifier(webSocket)] = webSocket }

    func forget(_ webSocket: WebSocketConnection) {
        webSockets[ObjectIdentifier(webSocket)] = nil
        webSocketCount -= 1
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

    func makeSession(
        _ transport: EngineSession.Transport, at endpoint: ServedEndpoint, configuration engine: EngineConfiguration,
        handshake: SocketHandshake
    ) -> EngineConnection {
        let id = SessionID(instance: configuration.instance, loop: loop.index, randomness: randomness)
        let session = EngineConnection(
            EngineSession(id: id.text, transport: transport, configuration: engine), at: endpoint, handshake: handshake,
            on: self)
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
        for webSocket in Array(webSockets.values) { webSocket.close(.goingAway) }
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
