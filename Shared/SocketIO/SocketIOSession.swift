import JSON

/// The Socket.IO layer of one Engine.IO session: its namespaces and the packets in them.
///
/// A state machine without effects: a method says what happened, and what it returns is to be done, in order. Events that
/// come while a CONNECT is checked wait for it and follow it.
public struct SocketIOSession: Sendable {
    private enum State {
        case checking(queue: [SocketIODecoder.Message])
        case connected
    }

    private let configuration: SocketIOConfiguration
    private var decoder: SocketIODecoder
    /// A client has one or two: an array is smaller than a table, and no slower.
    private var namespaces: [(name: String, state: State)] = []
    private var queuedCost = 0
    private var isClosed = false

    public init(configuration: SocketIOConfiguration) {
        self.configuration = configuration
        decoder = SocketIODecoder(
            maxAttachments: configuration.maxAttachments, maxBytes: configuration.maxAttachmentBytes,
            keepsAttachments: configuration.acceptsAttachments)
    }

    public func isConnected(to namespace: String) -> Bool {
        if case .connected = self[namespace] { true } else { false }
    }

    /// Those that are connected.
    public var connectedNamespaces: [String] { namespaces.map(\.name).filter(isConnected) }

    private subscript(namespace: String) -> State? {
        get { namespaces.first { $0.name == namespace }?.state }
        set {
            namespaces.removeAll { $0.name == namespace }
            if let newValue { namespaces.append((namespace, newValue)) }
        }
    }

    /// An Engine.IO message came.
    public mutating func receive(_ message: EnginePacket) -> [SocketIOAction] {
        if isClosed { return [] }
        do throws(ProtocolViolation) {
            guard let decoded = try decoder.decode(message) else { return [] }
            return try receive(decoded)
        } catch {
            isClosed = true
            namespaces = []
            return [.close(error)]
        }
    }

    private mutating func receive(_ message: SocketIODecoder.Message) throws(ProtocolViolation) -> [SocketIOAction] {
        let packet = message.packet
        switch (packet.kind, self[packet.namespace]) {
        case (.connect, nil):
            guard configuration.namespaces.contains(packet.namespace) else {
                let error = JSONWriter.object { $0.member("message", "Invalid namespace") }
                return [.send(.connectError(error, namespace: packet.namespace))]
            }
            self[packet.namespace] = .checking(queue: [])
            return [.checkConnect(namespace: packet.namespace, auth: packet.payload)]
        case (.disconnect, .connected):
            self[packet.namespace] = nil
            return [.disconnected(namespace: packet.namespace)]
        case (.disconnect, .checking(let queue)):
            forget(queue)
            self[packet.namespace] = nil
            return []
        case (.event, .connected), (.binaryEvent, .connected), (.ack, .connected), (.binaryAck, .connected):
            return [action(for: message)]
        case (.event, .checking(var queue)), (.binaryEvent, .checking(var queue)):
            queue.append(message)
            queuedCost += message.cost
            guard queuedCost <= configuration.maxQueuedBytes else {
                throw ProtocolViolation("too many events before CONNECT was answered")
            }
            self[packet.namespace] = .checking(queue: queue)
            return []
        default:
            if configuration.outOfPlacePackets == .ignore { return [] }
            throw ProtocolViolation("a packet that is out of place")
        }
    }

    private func action(for message: SocketIODecoder.Message) -> SocketIOAction {
        let packet = message.packet
        if packet.kind == .ack || packet.kind == .binaryAck {
            // The parser lets no ack pass without its id.
            return .ack(
                namespace: packet.namespace, id: packet.id ?? 0, arguments: packet.arguments,
                attachments: message.attachments)
        }
        let event = SocketIOEvent(
            namespace: packet.namespace, name: packet.eventName ?? "", arguments: packet.arguments,
            attachments: message.attachments, ackID: packet.id)
        if packet.attachmentCount > 0, !configuration.acceptsAttachments { return .refuse(event, .attachments) }
        return packet.isTooDeep ? .refuse(event, .depth) : .event(event)
    }

    private mutating func forget(_ queue: [SocketIODecoder.Message]) {
        queuedCost -= queue.reduce(0) { $0 + $1.cost }
    }

    /// Answers a CONNECT that is being checked; what waited for it follows. Nothing if the client did not wait.
    ///
    /// - Parameters:
    ///   - sid: what the client knows this connection by.
    ///   - payload: an object with further members for the answer.
    public mutating func accept(_ namespace: String, sid: String, payload: JSONValue? = nil) -> [SocketIOAction] {
        guard case .checking(let queue) = self[namespace] else { return [] }
        forget(queue)
        self[namespace] = .connected
        let answer = JSONWriter.object {
            $0.member("sid", sid)
            if let payload { $0.members(of: payload) }
        }
        return [.send(.connect(answer, namespace: namespace))] + queue.map(action)
    }

    /// Refuses a CONNECT that is being checked; what waited for it is dropped. The client may send another CONNECT.
    public mutating func refuse(_ namespace: String, error: JSONValue) -> [SocketIOAction] {
        guard case .checking(let queue) = self[namespace] else { return [] }
        forget(queue)
        self[namespace] = nil
        return [.send(.connectError(error, namespace: namespace))]
    }

    /// Tells the client that it is no longer welcome in this namespace; its library will not come back by itself.
    public mutating func disconnect(_ namespace: String) -> [SocketIOAction] {
        guard isConnected(to: namespace) else { return [] }
        self[namespace] = nil
        return [.send(.disconnect(namespace: namespace))]
    }
}

extension SocketIODecoder.Message {
    /// The memory that it takes in a queue, about: a packet without a payload takes some, too.
    fileprivate var cost: Int {
        attachments.reduce(256 + (packet.payload?.bytes.count ?? 0)) { $0 + $1.count + 64 }
    }
}
