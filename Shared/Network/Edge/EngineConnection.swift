import ParlorHTTP
import ParlorReactor
import ParlorSocketIO

/// An Engine.IO session on its loop: performs its state machines' actions, with connections and timers.
final class EngineConnection: Waiting, WebSocketReceiver {
    let endpoint: ServedEndpoint
    let handshake: SocketHandshake
    let edge: EdgeLoop
    var engine: EngineSession
    /// The state of the Socket.IO layer, which is `Socket`.
    var socketIO: SocketIOSession
    /// The application's own state.
    var context: AnyObject?

    private var webSocket: WebSocketConnection?
    private var probe: WebSocketConnection?
    private var heldPoll: (connection: HTTPConnection, exchange: Int)?
    /// The time of the last GET.
    private var polledAt = LoopInstant(nanoseconds: 0)
    private var isFlushQueued = false
    /// The POST of which some packets wait for their turn.
    private(set) var post: Post?
    /// False once the application has closed the socket, or was informed that it has closed. It may still be true when
    /// the engine has closed. If one POST has a client's last messages and its close packet, the engine closes at once,
    /// and the messages are still delivered, unless the session ends meanwhile.
    private(set) var takesMessages = true
    /// True once the session's end has been handled.
    private var hasEnded = false
    /// The reason for the end, if it is more specific than the engine's.
    private var closeReason: SocketCloseReason?

    private var timers = EngineTimers()
    private(set) var connectWait = ConnectWait()
    /// True while the client has not connected to a namespace.
    var isUnconnected: Bool { connectWait.isOn }
    /// True if the session uses a WebSocket, so that evicting it frees a connection.
    var hasWebSocket: Bool { webSocket != nil }
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

    /// The response header that names the new session in a polling handshake. A load balancer learns from it which
    /// server the requests with this `sid` are for, and need not read bodies. A WebSocket is one connection and does
    /// not need the header.
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

    /// Begins the wait for the client's CONNECT. The socket has been counted
    /// (`EdgeLoop.addUnconnectedSocket`).
    private func awaitConnect() {
        connectWait.begin(on: edge.loop, for: endpoint.settings.connectTimeout) { [unowned self] in
            close(.connectTimeout)
        }
        edge.noteUnconnected(self)
        if webSocket?.note(isConnected: false, maxMessageBytes: maxMessageBytes) == false { close(.overload) }
    }

    private func endUnconnected() {
        guard isUnconnected else { return }
        connectWait.end()
        edge.removeUnconnected(self)
    }

    /// Handles the client's connection to its first namespace.
    func didConnect() {
        endUnconnected()
        webSocket?.note(isConnected: true, maxMessageBytes: maxMessageBytes)
    }

    /// Handles the client's leaving its last namespace: it counts as unconnected again, and is closed if
    /// there are too many.
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
    /// - Returns: true if the message may be taken.
    func admitMessage() -> Bool {
        connectWait.admitMessage(atMost: edge.configuration.limits.maxUnconnectedMessages)
    }

    /// The largest message or POST that its client may send.
    var maxMessageBytes: Int {
        let limit = endpoint.settings.maxMessageBytes
        return isUnconnected ? min(limit, edge.configuration.limits.maxUnconnectedMessageBytes) : limit
    }

    // MARK: Long-polling

    func poll(_ connection: HTTPConnection, exchange: Int) {
        polledAt = .now()
        perform(engine.poll(), answering: (connection, exchange))
    }

    /// Handles the loss of the held GET's connection.
    func pollLost() {
        heldPoll = nil
        perform(engine.pollLost())
    }

    /// Handles a POST. If it has many packets, other clients have their turns meanwhile, and a POST that comes before
    /// its answer waits.
    func post(_ body: [UInt8], on connection: HTTPConnection, exchange: Int) {
        let client = handshake.client.subscriber
        guard post == nil else {
            return edge.shares.wait(for: client) { [weak self, weak connection] in
                // A body whose connection is gone is not counted any more.
                guard let self, let connection, connection.isAnswering(exchange) else { return }
                edge.shares.perform(for: client) { [self] in post(body, on: connection, exchange: exchange) }
            }
        }
        let limit =
            isUnconnected ? edge.configuration.limits.maxUnconnectedMessages : PollingPayload.maxReceivedPackets
        let actions = engine.post(body[...], atMost: limit)
        guard actions.count > Post.packetsAtATime else {
            return perform(actions, answering: (connection, exchange))
        }
        let divided = Post(actions, ofBytes: body.count, request: (connection, exchange), of: self)
        post = divided
        connection.handOver(exchange)
        guard countQueue() == nil else {
            endPost()
            perform([.refuse], answering: (connection, exchange))
            return close(.overload)
        }
        divided.takePackets()
    }

    func endPost() {
        post = nil
        countQueue()
    }

    // MARK: WebSocket

    /// Attaches a WebSocket that names this session. One that comes too late, or a second one, is opened and closed, as
    /// the reference server does. If it were refused, clients would treat the whole session as failed.
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
        _ actions: some Sequence<EngineAction>, answering request: (connection: HTTPConnection, exchange: Int)? = nil
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
                if isUnconnected { edge.noteUpgrade(ofUnconnected: self) }
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
            case .deliver(let message): socket.receive(message)
            case .notePing: edge.sockets?.socketIsPinged(socket)
            case .noteAnsweredPing: edge.sockets?.socketAnsweredPing(socket)
            case .close(let reason): end(reason)
            }
        }
    }

    // MARK: Sending

    /// The approximate memory of the output that the client has not taken yet.
    var unsentCost: Int { engine.queuedCost + (webSocket?.unsentCost ?? 0) }

    /// The standing that its bytes count under. A client that has left its namespace stays known while its
    /// events are still worked on.
    var standing: ClientUsage.Standing { isUnconnected && heldBytes == 0 ? .stranger : .known(person: person) }

    /// Counts a change of the bytes that the application holds. They also count after the engine has closed,
    /// while the client's earlier events are still worked on.
    ///
    /// - Returns: the limit that the change would exceed, in which case it is not counted.
    func noteHeld(change: Int) -> ClientUsage.Excess? {
        heldBytes += change
        let excess = countQueue()
        if change <= 0 { return nil }
        if excess != nil { heldBytes -= change }
        return excess
    }

    /// Counts the output that waits for a GET, and the bytes that the application holds. Output that waits
    /// for a WebSocket is counted by `WebSocketConnection`.
    ///
    /// - Returns: the limit that this exceeds, in which case the previous count stays.
    @discardableResult
    func countQueue() -> ClientUsage.Excess? {
        edge.count(
            engine.queuedCost + heldBytes + (post?.bytes ?? 0), of: handshake.client.subscriber, in: &counted,
            as: standing)
    }

    /// - Parameter droppable: true if the packet is better dropped than sent late.
    /// - Returns: false if it was dropped.
    @discardableResult
    func send(_ packet: OutgoingPacket, droppable: Bool = false) -> Bool {
        let limit = edge.configuration.maxUnsentBytes
        if droppable, unsentCost + packet.bytes.count > limit / 2 {
            edge.counters.dropped.add(1)
            return false
        }
        guard !isSlow(after: packet.bytes.count) else {
            cutOff()
            return true
        }
        switch engine.send(packet) {
        case .webSocket: webSocket?.write(packet.bytes)
        case .queue:
            flushAtEndOfTurn()
            if countQueue() != nil { cutOff() }
        case .nowhere: break
        }
        return true
    }

    private func cutOff() {
        edge.counters.slowCloses.add(1)
        close(.slowReader)
    }

    /// Returns true if the client does not take its output, and more bytes would exceed the limit.
    ///
    /// The answers to a burst of a client's own come in one turn. They count only once the kernel could take them.
    private func isSlow(after bytes: Int) -> Bool {
        let limit = edge.configuration.maxUnsentBytes
        if unsentCost + bytes <= limit { return false }
        let isTaking =
            if let webSocket {
                webSocket.takesOutput(within: Self.patience)
            } else {
                LoopInstant.now() - polledAt < edge.configuration.writeTimeout
            }
        return unsentCost + bytes > (isTaking ? Self.burst * limit : limit)
    }

    /// The multiple of `maxUnsentBytes` that a client may have which takes some of its output, or polls. It is enough for
    /// the answers to all events that one socket has in progress: 128, each answered with 60 KB as an ack and as an event.
    private static let burst = 16

    /// The time in which a client has to take some of its output, to be given more than `maxUnsentBytes`.
    private static let patience: Duration = .seconds(1)

    /// Sends a batch, which was encoded once for many sockets.
    func send(_ batch: OutgoingBatch) {
        guard engine.sendsOnWebSocket, unsentCost + batch.frames.count <= edge.configuration.maxUnsentBytes else {
            for packet in batch.packets { send(packet) }
            return
        }
        webSocket?.write(batch.frames)
    }

    /// Defers the answer of a held GET to the end of the turn, so that it carries all of the turn's packets.
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

    /// Applies the heartbeat's deadline if it has passed.
    func settleHeartbeat() {
        while engine.isOpen, timers.isHeartbeatDue { fired(.heartbeat) }
    }

    // MARK: The end

    func close(_ reason: SocketCloseReason) {
        takesMessages = false
        closeReason = closeReason ?? reason
        perform(engine.close())
        // The engine may have closed before, in a POST whose close packet waits for its turn.
        end(.closedByServer)
    }

    /// Closes once the client has received what was sent.
    func leave() {
        takesMessages = false
        perform(engine.leave())
    }

    private func end(_ reason: EngineCloseReason) {
        if hasEnded { return }
        hasEnded = true
        takesMessages = false
        post?.abandon()
        timers.cancelAll()
        endUnconnected()
        edge.retire(self)
        countQueue()
        edge.forget(self)
        if let webSocket {
            self.webSocket = nil
            edge.counters.webSockets.add(-1)
            webSocket.close(for: closeReason)
        }
        edge.sockets?.socketDidClose(socket, reason: closeReason ?? .engine(reason))
        context = nil
    }
}
