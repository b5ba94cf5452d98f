import HTTP
import Reactor
import SocketIO

/// One Engine.IO session on its loop: does what its state machines say, with connections and timers.
final class EngineConnection: Waiting {
    let endpoint: ServedEndpoint
    let handshake: SocketHandshake
    let edge: EdgeLoop
    private(set) var engine: EngineSession
    var socketIO: SocketIOSession
    /// For the application's use.
    var context: AnyObject?

    private var webSocket: WebSocketConnection?
    private var probe: WebSocketConnection?
    private var heldPoll: (connection: HTTPConnection, exchange: Int)?
    private var isFlushQueued = false
    /// False once the application has closed the socket, or was told that it has closed. The engine may be closed before
    /// that: a client's last messages come in one POST with its close packet, which the engine takes whole.
    private(set) var takesMessages = true
    /// Why it ends, if that is more than its engine knows.
    private var closeReason: SocketCloseReason?

    private var timers = EngineTimers()
    private var connectTimer: LoopTimer?

    /// Whether its client has still to connect to a namespace: it is held short, and others may take its place.
    private(set) var isUnconnected = false
    private var unconnectedMessages = 0
    private var counted = ClientUsage.Buffered()
    /// Bytes that the application holds for the client, such as events in progress.
    private var heldBytes = 0
    /// The connected person, as set by the application.
    var person: String?
    var link = WaitingLink<EngineConnection>()

    init(_ engine: EngineSession, at endpoint: ServedEndpoint, handshake: SocketHandshake, on edge: EdgeLoop) {
        self.engine = engine
        self.endpoint = endpoint
        self.handshake = handshake
        self.edge = edge
        socketIO = SocketIOSession(configuration: endpoint.socketIO)
    }

    var socket: Socket { Socket(LoopBound(self, to: edge.loop)) }

    // MARK: The start

    /// Names the new session in the answer to a handshake that polls: a load balancer learns from it, without reading
    /// bodies, which server the requests with this `sid` are for. A WebSocket needs no such thing, it is one connection.
    private static let sessionHeader = "Engine-Session"

    func start(on connection: HTTPConnection, exchange: Int) {
        var response = HTTPResponse.enginePayload(PollingPayload.encode([engine.handshakePacket]))
        response.headers.add(Self.sessionHeader, engine.id)
        connection.answer(exchange, with: response)
        start()
    }

    func start(on webSocket: WebSocketConnection) {
        self.webSocket = webSocket
        edge.counters.webSockets.add(1)
        webSocket.write(engine.handshakePacket.bytes)
        start()
        webSocket.start(for: self)
    }

    private func start() {
        perform(engine.start())
        if endpoint.needsConnect { awaitConnect() }
    }

    /// The client has to connect to a namespace from now on. It has been counted (`EdgeLoop.addUnconnectedSocket`).
    private func awaitConnect() {
        isUnconnected = true
        unconnectedMessages = 0
        edge.noteUnconnected(self)
        guard webSocket?.note(isConnected: false, maxMessageBytes: maxMessageBytes) != false else {
            return close(.overload)
        }
        guard let timeout = endpoint.settings.connectTimeout else { return }
        connectTimer = edge.loop.schedule(after: timeout) { [unowned self] in close(.connectTimeout) }
    }

    private func endUnconnected() {
        guard isUnconnected else { return }
        isUnconnected = false
        edge.removeUnconnected(self)
        connectTimer?.cancel()
        connectTimer = nil
    }

    /// The client has connected to its first namespace.
    func didConnect() {
        endUnconnected()
        webSocket?.note(isConnected: true, maxMessageBytes: maxMessageBytes)
    }

    /// The client has left its last namespace: it is as new, and closed where there is no room for it.
    func didLeave() {
        guard !isUnconnected, engine.isOpen else { return }
        do throws(ClientUsage.Excess) {
            try edge.addUnconnectedSocket(of: handshake.client)
        } catch {
            return close(.overload)
        }
        awaitConnect()
    }

    /// Counts a message of a client that has not connected.
    ///
    /// - Returns: whether it may be taken.
    func admitMessage() -> Bool {
        guard isUnconnected else { return true }
        unconnectedMessages += 1
        return unconnectedMessages <= edge.configuration.limits.maxUnconnectedMessages
    }

    /// The largest message or POST that its client may send.
    var maxMessageBytes: Int {
        let limit = endpoint.settings.maxMessageBytes
        return isUnconnected ? min(limit, edge.configuration.limits.maxUnconnectedMessageBytes) : limit
    }

    // MARK: Long-polling

    func poll(_ connection: HTTPConnection, exchange: Int) {
        perform(engine.poll(), answering: (connection, exchange))
    }

    func post(_ body: [UInt8], on connection: HTTPConnection, exchange: Int) {
        perform(engine.post(body[...]), answering: (connection, exchange))
    }

    /// The client of the held GET hung up.
    func pollLost() {
        heldPoll = nil
        perform(engine.pollLost())
    }

    // MARK: WebSocket

    /// A WebSocket that names this session. One that comes too late, or twice, is opened and closed, as by the
    /// reference server: the clients take a refusal for a failure of the session.
    func attach(_ webSocket: WebSocketConnection) {
        let actions = engine.attachWebSocket()
        if actions.contains(.refuse) { return webSocket.close(.normal) }
        probe = webSocket
        webSocket.note(isConnected: false, maxMessageBytes: edge.configuration.limits.maxUnconnectedMessageBytes)
        perform(actions)
        webSocket.start(for: self)
    }

    func webSocket(_ webSocket: WebSocketConnection, received message: ArraySlice<UInt8>, isBinary: Bool) {
        if webSocket === probe {
            perform(isBinary ? engine.receiveBinaryOnProbe() : engine.receiveOnProbe(message))
        } else if webSocket === self.webSocket {
            perform(isBinary ? engine.receiveBinary(message) : engine.receive(message))
        }
    }

    func webSocketDidClose(_ webSocket: WebSocketConnection, isSlow: Bool) {
        if webSocket === probe {
            probe = nil
            perform(engine.probeClosed())
        } else if webSocket === self.webSocket {
            if isSlow { closeReason = closeReason ?? .slowReader }
            perform(engine.webSocketClosed())
        }
    }

    // MARK: Actions

    func perform(
        _ actions: [EngineAction], answering request: (connection: HTTPConnection, exchange: Int)? = nil
    ) {
        for action in actions {
            switch action {
            case .answer(let body):
                request?.connection.answer(request?.exchange ?? 0, with: .enginePayload(body))
                countQueue()
            case .refuse:
                request?.connection.answer(request?.exchange ?? 0, with: .engineError(.badRequest))
            case .hold:
                guard let request else { continue }
                heldPoll = request
                request.connection.hold(request.exchange, for: self)
            case .answerHeldPoll(let body):
                let held = heldPoll
                heldPoll = nil
                held?.connection.answer(held?.exchange ?? 0, with: .enginePayload(body))
                countQueue()
            case .write(let packet): webSocket?.write(packet.bytes)
            case .writeToProbe(let packet): probe?.write(packet.bytes)
            case .promoteProbe:
                webSocket = probe
                probe = nil
                webSocket?.note(isConnected: !isUnconnected, maxMessageBytes: maxMessageBytes)
                countQueue()
                edge.counters.webSockets.add(1)
            case .closeProbe:
                let closed = probe
                probe = nil
                closed?.close(.normal)
            case .startTimer(let timer, let delay):
                // An earlier action may have ended the session, and a timer must not outlive it.
                if !engine.isClosed { timers.start(timer, after: delay, for: self) }
            case .stopTimer(let timer): timers.stop(timer)
            case .deliver(let message): deliver(message)
            case .notePing: edge.delegate.socketIsPinged(socket)
            case .noteAnsweredPing: edge.delegate.socketAnsweredPing(socket)
            case .close(let reason): end(reason)
            }
        }
    }

    // MARK: Sending

    /// The memory, about, of what the client has not taken yet.
    var unsentCost: Int { engine.queuedCost + (webSocket?.unsentCost ?? 0) }

    /// Whose its bytes are. One that has left its namespace is known by the events that are still worked on.
    var standing: ClientUsage.Standing { isUnconnected && heldBytes == 0 ? .stranger : .known(person: person) }

    /// It counts also when the engine has closed: what the client sent before is still worked on.
    ///
    /// - Returns: the limit that the change would exceed; it is not counted then.
    func noteHeld(change: Int) -> ClientUsage.Excess? {
        heldBytes += change
        let excess = countQueue()
        if change <= 0 { return nil }
        if excess != nil { heldBytes -= change }
        return excess
    }

    /// Counts what waits for a GET, and what the application holds. What waits for a WebSocket is counted there.
    ///
    /// - Returns: the limit that this exceeds; what the client had before stays counted then.
    @discardableResult
    private func countQueue() -> ClientUsage.Excess? {
        edge.count(
            engine.queuedCost + heldBytes, of: handshake.client.subscriber, in: &counted,
            as: standing)
    }

    /// - Parameter droppable: whether the packet is better dropped than sent late.
    /// - Returns: false if it was dropped.
    @discardableResult
    func send(_ packet: OutgoingPacket, droppable: Bool = false) -> Bool {
        let pending = unsentCost + packet.bytes.count
        let limit = edge.configuration.maxUnsentBytes
        if droppable, pending > limit / 2 {
            edge.counters.dropped.add(1)
            return false
        }
        guard pending <= limit else {
            edge.counters.slowCloses.add(1)
            close(.slowReader)
            return true
        }
        switch engine.send(packet) {
        case .webSocket: webSocket?.write(packet.bytes)
        case .queue:
            flushAtEndOfTurn()
            guard countQueue() == nil else {
                edge.counters.slowCloses.add(1)
                close(.slowReader)
                return true
            }
        case .nowhere: break
        }
        return true
    }

    /// The same for what goes to many sockets.
    func send(_ batch: OutgoingBatch) {
        guard engine.sendsOnWebSocket, unsentCost + batch.frames.count <= edge.configuration.maxUnsentBytes else {
            for packet in batch.packets { send(packet) }
            return
        }
        webSocket?.write(batch.frames)
    }

    /// So that a GET is answered with all that the turn brings.
    private func flushAtEndOfTurn() {
        guard engine.holdsPoll, !isFlushQueued else { return }
        isFlushQueued = true
        edge.loop.atEndOfTurn { [self] in
            isFlushQueued = false
            perform(engine.flush())
        }
    }

    // MARK: Timers

    func fired(_ timer: EngineTimer) { perform(engine.timerFired(timer)) }

    /// Lets the heartbeat's deadline count if it has passed.
    func settleHeartbeat() {
        while engine.isOpen, timers.isHeartbeatDue { fired(.heartbeat) }
    }

    // MARK: The end

    func close(_ reason: SocketCloseReason) {
        takesMessages = false
        closeReason = closeReason ?? reason
        perform(engine.close())
    }

    /// Closes once what was sent has arrived.
    func leaveEngine() {
        takesMessages = false
        perform(engine.leave())
    }

    func drain() { close(.draining) }

    private func end(_ reason: EngineCloseReason) {
        takesMessages = false
        timers.cancelAll()
        endUnconnected()
        edge.retire(self)
        countQueue()
        edge.forget(self)
        if let webSocket {
            self.webSocket = nil
            edge.counters.webSockets.add(-1)
            switch closeReason {
            // Whoever does not read would not read a close frame either; and a place is wanted at once.
            case .slowReader, .overload: webSocket.abort()
            case .draining: webSocket.close(.goingAway)
            case .tooManyMessages: webSocket.close(.policyViolation, reason: "too many messages before CONNECT")
            default: webSocket.close(.normal)
            }
        }
        edge.delegate.socketDidClose(socket, reason: closeReason ?? .engine(reason))
        context = nil
    }
}
