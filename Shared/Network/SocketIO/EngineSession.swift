import ParlorJSON

/// An Engine.IO session, with a client that uses long-polling, WebSocket, or both during an upgrade.
///
/// A state machine without effects: each method takes an event and returns the actions to perform, in order.
/// Packets to the client pass through `send`, which returns their destination; those for polling are queued
/// here until `flush`.
public struct EngineSession: Sendable {
    public enum Transport: Sendable { case polling, webSocket }

    private enum State {
        case polling, webSocket
        /// Ends by polling: the queued packets and a close packet go out with the next GETs.
        case leaving
        case closed
    }

    private enum Probe {
        case none
        /// A WebSocket is attached; its `2probe` is expected.
        case attached
        /// `3probe` was written; `5` is expected.
        case answered
    }

    public let id: String
    private let configuration: EngineConfiguration
    private var state: State
    private var probe = Probe.none
    /// True while a GET is held open until there is something to send.
    public private(set) var holdsPoll = false
    private var awaitsPong = false
    private var queue = PollingQueue()

    /// Creates a session after a handshake. Send its `handshakePacket` first, then perform the actions of
    /// `start`.
    public init(id: String, transport: Transport, configuration: EngineConfiguration) {
        self.id = id
        self.configuration = configuration
        state = transport == .webSocket ? .webSocket : .polling
    }

    /// The approximate memory of the packets that wait for a GET.
    public var queuedCost: Int { queue.cost }

    public var transport: Transport { state == .webSocket ? .webSocket : .polling }

    /// False once the session is closed, or only waits for its last packets to be fetched.
    public var isOpen: Bool { state == .polling || state == .webSocket }

    /// True once the session has ended and performs no more actions.
    public var isClosed: Bool { state == .closed }

    // MARK: The handshake

    public var handshakePacket: OutgoingPacket {
        let handshake = JSONWriter.bytes { json in
            json.object {
                $0.member("sid", id)
                $0.member("upgrades", array: { if transport == .polling { $0.string("websocket") } })
                $0.member("pingInterval", configuration.pingInterval.milliseconds)
                $0.member("pingTimeout", configuration.pingTimeout.milliseconds)
                $0.member("maxPayload", configuration.maxPayload)
            }
        }
        return OutgoingPacket(.open, handshake)
    }

    public func start() -> [EngineAction] { [.startTimer(.heartbeat, configuration.pingInterval)] }

    // MARK: Long-polling

    /// Handles a GET.
    public mutating func poll() -> [EngineAction] {
        switch state {
        case .polling where holdsPoll:
            // A second GET ends the session, as in the reference server. It is refused, and the held GET gets the
            // close packet.
            return [.refuse] + end(.overlappingPolls, sending: .close)
        case .polling:
            if !queue.isEmpty { return [.answer(queue.takeBody())] }
            // The client waits for its upgrade, and a held GET would only delay it.
            if probe == .answered { return [.answer(PollingPayload.encode([.noop]))] }
            holdsPoll = true
            return [.hold]
        case .leaving:
            let body = queue.takeBody(closing: true)
            return [.answer(body)] + (queue.isEmpty ? end(.closedByServer) : [])
        case .webSocket, .closed:
            return [.refuse]
        }
    }

    /// The body of the answer to a POST.
    public static let postAnswer = Array("ok".utf8)

    /// Handles a POST that has arrived completely, with its body. So two of them never overlap here.
    ///
    /// - Parameter limit: the limit of packets in it.
    public mutating func post(
        _ body: ArraySlice<UInt8>, atMost limit: Int = PollingPayload.maxReceivedPackets
    ) -> [EngineAction] {
        guard state == .polling else { return [.refuse] }
        do throws(ProtocolViolation) {
            var actions: [EngineAction] = []
            for packet in try PollingPayload.parse(body, atMost: limit) where isOpen { actions += try receive(packet) }
            return actions + [.answer(Self.postAnswer)]
        } catch {
            return [.refuse] + end(.violation(error))
        }
    }

    /// Handles the loss of the held GET's connection.
    public mutating func pollLost() -> [EngineAction] {
        guard state == .polling else { return [] }
        holdsPoll = false
        return end(.transportClosed)
    }

    /// Answers the held GET with the queued packets. To be called when a loop turn's sends are done.
    public mutating func flush() -> [EngineAction] {
        guard holdsPoll, !queue.isEmpty else { return [] }
        return release()
    }

    /// Answers the held GET, with a noop if the queue is empty.
    private mutating func release() -> [EngineAction] {
        guard holdsPoll else { return [] }
        holdsPoll = false
        return [.answerHeldPoll(queue.isEmpty ? PollingPayload.encode([.noop]) : queue.takeBody())]
    }

    // MARK: The upgrade

    /// Handles the opening of a WebSocket that names this session. `refuse`: close the WebSocket; the session
    /// continues as it was.
    public mutating func attachWebSocket() -> [EngineAction] {
        guard state == .polling, probe == .none else { return [.refuse] }
        probe = .attached
        return [.startTimer(.upgrade, configuration.upgradeTimeout)]
    }

    /// Handles a text message on the probing WebSocket.
    ///
    /// An invalid message ends the probe, not the session.
    public mutating func receiveOnProbe(_ text: ArraySlice<UInt8>) -> [EngineAction] {
        guard probe != .none, let kind = text.first.flatMap(EnginePacket.Kind.init) else { return abandonProbe() }
        switch kind {
        case .ping where text.dropFirst() == EnginePacket.probe:
            probe = .answered
            return [.writeToProbe(.probeAnswer)] + release()
        case .upgrade where probe == .answered:
            // A client that upgrades has no GET open. If there is one, answer it first, with the packets that
            // were queued before.
            let released = release()
            let waiting = queue.takeAll().map(EngineAction.write)
            state = .webSocket
            probe = .none
            return released + [.stopTimer(.upgrade), .promoteProbe] + waiting
        default:
            return abandonProbe()
        }
    }

    /// Handles a binary message on the probing WebSocket.
    public mutating func receiveBinaryOnProbe() -> [EngineAction] { abandonProbe() }

    /// Handles the loss of the probing WebSocket.
    public mutating func probeClosed() -> [EngineAction] {
        if probe == .none { return [] }
        probe = .none
        return [.stopTimer(.upgrade)]
    }

    private mutating func abandonProbe() -> [EngineAction] {
        if probe == .none { return [] }
        return probeClosed() + [.closeProbe]
    }

    // MARK: WebSocket

    /// Handles a text message on the WebSocket that is the transport.
    public mutating func receive(_ text: ArraySlice<UInt8>) -> [EngineAction] {
        guard state == .webSocket else { return [] }
        do throws(ProtocolViolation) {
            return try receive(EnginePacket(parsing: text))
        } catch {
            return end(.violation(error))
        }
    }

    /// Handles a binary message on the WebSocket that is the transport.
    public mutating func receiveBinary(_ bytes: ArraySlice<UInt8>) -> [EngineAction] {
        state == .webSocket ? [.deliver(EnginePacket(binary: bytes))] : []
    }

    /// Handles the loss of the WebSocket that is the transport.
    public mutating func webSocketClosed() -> [EngineAction] { state == .webSocket ? end(.transportClosed) : [] }

    // MARK: Both

    private mutating func receive(_ packet: EnginePacket) throws(ProtocolViolation) -> [EngineAction] {
        switch packet.kind {
        case .message: return [.deliver(packet)]
        case .pong:
            defer { awaitsPong = false }
            // An unsolicited pong proves nothing.
            return (awaitsPong ? [.noteAnsweredPing] : []) + [.startTimer(.heartbeat, configuration.pingInterval)]
        case .close: return end(.closedByClient)
        case .noop: return []
        case .ping: throw ProtocolViolation("a ping from a client")
        case .open: throw ProtocolViolation("an open packet from a client")
        case .upgrade: throw ProtocolViolation("an upgrade packet outside an upgrade")
        }
    }

    public mutating func timerFired(_ timer: EngineTimer) -> [EngineAction] {
        switch timer {
        case .heartbeat: return heartbeat()
        case .upgrade: return abandonProbe()
        case .closing: return end(.closedByServer)
        }
    }

    private mutating func heartbeat() -> [EngineAction] {
        guard isOpen else { return [] }
        if awaitsPong { return end(.pingTimeout) }
        awaitsPong = true
        let written: [EngineAction] = send(.ping) == .webSocket ? [.write(.ping)] : flush()
        return written + [.notePing, .startTimer(.heartbeat, configuration.pingTimeout)]
    }

    /// The destination of a packet.
    public enum Destination: Sendable { case webSocket, queue, nowhere }

    /// True if senders may write to the WebSocket directly, without calling `send` for each packet.
    public var sendsOnWebSocket: Bool {
        if case .webSocket = state { true } else { false }
    }

    /// Routes a packet for the client. `webSocket`: the caller writes it. `queue`: it is queued here, for
    /// `flush` or the next GET. `nowhere`: the session is over.
    public mutating func send(_ packet: OutgoingPacket) -> Destination {
        switch state {
        case .webSocket: return .webSocket
        case .polling:
            queue.append(packet)
            return .queue
        case .leaving, .closed: return .nowhere
        }
    }

    /// Ends the session at once. A held GET is answered without a close packet: its client finds the session
    /// gone and reconnects by itself.
    public mutating func close() -> [EngineAction] { end(.closedByServer) }

    /// Ends the session: on a WebSocket at once, and by polling with a close packet, once the client has fetched
    /// everything that was sent.
    public mutating func leave() -> [EngineAction] {
        switch state {
        case .webSocket: return end(.closedByServer)
        case .polling:
            let probing = abandonProbe()
            state = .leaving
            if holdsPoll {
                holdsPoll = false
                let body = EngineAction.answerHeldPoll(queue.takeBody(closing: true))
                if queue.isEmpty { return probing + [body] + end(.closedByServer) }
                return probing + [body, .startTimer(.closing, configuration.pingTimeout)]
            }
            return probing + [.startTimer(.closing, configuration.pingTimeout)]
        case .leaving, .closed: return []
        }
    }

    /// Ends the session at once.
    ///
    /// - Parameter last: the packet for the held GET, instead of the queued ones.
    private mutating func end(_ reason: EngineCloseReason, sending last: OutgoingPacket? = nil) -> [EngineAction] {
        if state == .closed { return [] }
        var actions: [EngineAction] = []
        if let last, holdsPoll {
            actions = [.answerHeldPoll(PollingPayload.encode([last]))]
            holdsPoll = false
        }
        actions += release() + abandonProbe() + [.close(reason)]
        state = .closed
        _ = queue.takeAll()
        return actions
    }
}
