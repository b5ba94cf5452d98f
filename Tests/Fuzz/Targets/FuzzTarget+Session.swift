import ParlorJSON

@testable import ParlorSocketIO

extension FuzzTarget {
    /// Both layers of one connection, driven as by the edge, with events in any order.
    static let session = FuzzTarget(name: "session", maxLength: 2048) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        var driver = SessionDriver(options: input.byte())
        while !input.isEmpty { try driver.step(input.byte(), input.chunk()) }
    }
}

/// A session, with the state that its edge has to track.
private struct SessionDriver {
    private var engine: EngineSession
    private var socketIO: SocketIOSession
    private var holdsPoll = false
    private var isClosed = false
    private var depth = 0

    init(options: UInt8) {
        engine = EngineSession(
            id: "x", transport: options & 1 == 0 ? .polling : .webSocket, configuration: EngineConfiguration())
        let configuration = SocketIOConfiguration(
            namespaces: ["/", "/a"], unexpectedPackets: options & 2 == 0 ? .ignore : .close,
            acceptsAttachments: options & 4 != 0, maxAttachments: 4, maxAttachmentBytes: 64, maxQueuedBytes: 128)
        socketIO = SocketIOSession(configuration: configuration)
        _ = engine.start()
    }

    mutating func step(_ operation: UInt8, _ bytes: [UInt8]) throws(FuzzFinding) {
        let text = bytes[...]
        let isText = String(validating: bytes, as: UTF8.self) != nil
        switch operation % 13 {
        case 0: try apply(engine.poll())
        case 1: try apply(engine.post(text))
        case 2:
            if holdsPoll {
                holdsPoll = false
                try apply(engine.pollLost())
            }
        case 3: try apply(engine.flush())
        case 4: try apply(engine.attachWebSocket())
        case 5: if isText { try apply(engine.receiveOnProbe(text)) }
        case 6: try apply(engine.receiveBinaryOnProbe())
        case 7: try apply(engine.probeClosed())
        case 8: if isText { try apply(engine.receive(text)) }
        case 9: try apply(engine.receiveBinary(text))
        case 10: try apply(engine.webSocketClosed())
        case 11: try apply(engine.timerFired(EngineTimer.allCases[bytes.count % EngineTimer.allCases.count]))
        case 12 where bytes.count & 7 == 7: try apply(engine.leave())
        default: if let action = socketIO.disconnect("/") { try apply([action]) }
        }
        try require(engine.queuedCost >= 0, "less than nothing is queued")
        try require(
            engine.holdsPoll == holdsPoll, "the session holds a GET: \(engine.holdsPoll), the edge: \(holdsPoll)")
        guard engine.isClosed else { return }
        try require(isClosed, "the session closed without a word")
        try require(engine.queuedCost == 0 && !holdsPoll, "a closed session holds something")
    }

    private mutating func apply(_ actions: [EngineAction]) throws(FuzzFinding) {
        for action in actions {
            switch action {
            case .hold: holdsPoll = true
            case .answerHeldPoll:
                try require(holdsPoll, "an answer to a GET that is not there")
                holdsPoll = false
            case .deliver(let packet): if let action = socketIO.receive(packet) { try apply([action]) }
            case .close:
                try require(!isClosed, "closed twice")
                isClosed = true
            default: break
            }
        }
    }

    private mutating func apply(_ actions: [SocketIOAction]) throws(FuzzFinding) {
        for action in actions {
            switch action {
            case .send(let packet):
                try require(packet.payloadOffset <= packet.bytes.count, "a packet without its end")
                _ = engine.send(packet)
            case .checkConnect(let namespace, let auth): try answer(namespace, auth)
            case .event(let event), .refuse(let event, _):
                try require(socketIO.isConnected(to: event.namespace), "an event on \(event.namespace)")
                if let id = event.ackID { _ = engine.send(.ack(id, event.arguments)) }
            case .ack(let namespace, let id, _, _):
                try require(id >= 0 && socketIO.isConnected(to: namespace), "an ack of \(id) on \(namespace)")
            case .disconnected(let namespace):
                try require(!socketIO.isConnected(to: namespace), "connected to what it left")
            case .close: try apply(engine.close())
            }
        }
    }

    /// Accepts or refuses, as the CONNECT asks, or leaves it unanswered.
    private mutating func answer(_ namespace: String, _ auth: JSONValue?) throws(FuzzFinding) {
        guard depth < 4 else { return }
        depth += 1
        defer { depth -= 1 }
        if auth?["wait"] != nil { return }
        if auth?["no"] == nil {
            try apply(socketIO.accept(namespace, sid: "s", payload: auth))
        } else if let action = socketIO.refuse(namespace, error: .emptyObject) {
            try apply([action])
        }
    }
}
