import ParlorJSON

/// The Socket.IO layer of one Engine.IO session: its namespaces and the packets in them.
///
/// A state machine without effects: each method takes an event and returns the action to perform. Events that
/// arrive while a CONNECT is checked are queued and delivered after it.
///
/// It is separate from `EngineSession`, because the packets of one POST are processed one after the other. What the
/// application does with one packet (refuse the CONNECT, close) decides what happens to the next.
public struct SocketIOSession: Sendable {
    private struct Namespace {
        let name: String
        /// False while its CONNECT is checked.
        var isConnected = false
        /// The packets that arrived meanwhile.
        var queue: [SocketIOPacket] = []
    }

    private let configuration: SocketIOConfiguration
    private var decoder: SocketIODecoder
    /// A client has one or two namespaces: an array is smaller than a dictionary, and no slower.
    private var namespaces: [Namespace] = []
    private var queuedCost = 0
    private var isClosed = false

    public init(configuration: SocketIOConfiguration) {
        self.configuration = configuration
        decoder = SocketIODecoder(
            maxAttachments: configuration.maxAttachments, maxBytes: configuration.maxAttachmentBytes,
            keepsAttachments: configuration.acceptsAttachments)
    }

    public func isConnected(to namespace: String) -> Bool {
        namespaces.contains { $0.isConnected && $0.name == namespace }
    }

    /// The names of the connected namespaces.
    public var connectedNamespaces: [String] { namespaces.filter(\.isConnected).map(\.name) }

    private func index(of namespace: String) -> Int? { namespaces.firstIndex { $0.name == namespace } }

    /// Removes and returns a namespace whose CONNECT is being checked.
    private mutating func takeChecked(_ namespace: String) -> Namespace? {
        guard let index = index(of: namespace), !namespaces[index].isConnected else { return nil }
        let checked = namespaces.remove(at: index)
        queuedCost -= checked.queue.reduce(0) { $0 + $1.queuedCost }
        return checked
    }

    /// Returns the kind of a large message from its first bytes. Its payload is neither read nor checked, and
    /// `receive` need not be called for it.
    ///
    /// - Returns: nil if the message has to be received.
    public func preview(of message: EnginePacket) -> SocketIOPreview? {
        guard !isClosed, !message.isBinary, decoder.isIdle, let packet = SocketIOPacket(previewing: message.payload)
        else { return nil }
        switch (packet.kind, isConnected(to: packet.namespace)) {
        case (.event, true):
            return .event(
                SocketIOEvent(
                    namespace: packet.namespace, name: packet.eventName ?? "", arguments: [], attachments: [],
                    ackID: packet.id))
        case (.ack, true): return .ack
        // `receive` reports violations of the protocol.
        case _ where configuration.unexpectedPackets != .ignore: return nil
        case (.connectError, _), (.connect, true): return .ignored
        // While a namespace's CONNECT is checked, its events are queued.
        case (.event, false), (.ack, false): return index(of: packet.namespace) == nil ? .ignored : nil
        default: return nil
        }
    }

    /// Handles an Engine.IO message.
    public mutating func receive(_ message: EnginePacket) -> SocketIOAction? {
        if isClosed { return nil }
        do throws(ProtocolViolation) {
            guard let packet = try decoder.decode(message) else { return nil }
            return try receive(packet)
        } catch {
            isClosed = true
            namespaces = []
            return .close(error)
        }
    }

    private mutating func receive(_ packet: SocketIOPacket) throws(ProtocolViolation) -> SocketIOAction? {
        guard let index = index(of: packet.namespace) else {
            guard packet.kind == .connect else { return try unexpectedPacket() }
            guard configuration.namespaces.contains(packet.namespace) else {
                let error = JSONWriter.object { $0.member("message", "Invalid namespace") }
                return .send(.connectError(error, namespace: packet.namespace))
            }
            namespaces.append(Namespace(name: packet.namespace))
            return .checkConnect(namespace: packet.namespace, auth: packet.payload)
        }
        switch (packet.kind, isConnected: namespaces[index].isConnected) {
        case (.disconnect, true):
            namespaces.remove(at: index)
            return .disconnected(namespace: packet.namespace)
        case (.disconnect, false):
            _ = takeChecked(packet.namespace)
            return nil
        case (.event, true), (.binaryEvent, true), (.ack, true), (.binaryAck, true):
            return action(for: packet)
        case (.event, false), (.binaryEvent, false):
            queuedCost += packet.queuedCost
            guard queuedCost <= configuration.maxQueuedBytes else {
                throw ProtocolViolation("too many events before CONNECT was answered")
            }
            // Append in place: a copy for each packet would be quadratic.
            namespaces[index].queue.append(packet)
            return nil
        default:
            return try unexpectedPacket()
        }
    }

    private func unexpectedPacket() throws(ProtocolViolation) -> SocketIOAction? {
        if configuration.unexpectedPackets == .ignore { return nil }
        throw ProtocolViolation("a packet that is out of place")
    }

    private func action(for packet: SocketIOPacket) -> SocketIOAction {
        if packet.kind == .ack || packet.kind == .binaryAck {
            // The parser accepts no ack without an id.
            return .ack(
                namespace: packet.namespace, id: packet.id ?? 0, arguments: packet.arguments,
                attachments: packet.attachments)
        }
        let event = SocketIOEvent(
            namespace: packet.namespace, name: packet.eventName ?? "", arguments: packet.arguments,
            attachments: packet.attachments, ackID: packet.id)
        if packet.attachmentCount > 0, !configuration.acceptsAttachments { return .refuse(event, .attachments) }
        if let refusal = packet.refusal { return .refuse(event, refusal) }
        return .event(event)
    }

    /// Accepts a CONNECT that is being checked; the events that waited for it follow. Does nothing if the
    /// client does not wait.
    ///
    /// - Parameters:
    ///   - sid: the id by which the client knows this connection.
    ///   - payload: an object with other members for the answer.
    public mutating func accept(_ namespace: String, sid: String, payload: JSONValue? = nil) -> [SocketIOAction] {
        guard let checked = takeChecked(namespace) else { return [] }
        namespaces.append(Namespace(name: namespace, isConnected: true))
        let answer = JSONWriter.object {
            $0.member("sid", sid)
            if let payload { $0.members(of: payload) }
        }
        return [.send(.connect(answer, namespace: namespace))] + checked.queue.map(action)
    }

    /// Refuses a CONNECT that is being checked, and drops the events that waited for it. The client may send
    /// another CONNECT.
    public mutating func refuse(_ namespace: String, error: JSONValue) -> SocketIOAction? {
        guard takeChecked(namespace) != nil else { return nil }
        return .send(.connectError(error, namespace: namespace))
    }

    /// Disconnects the client from this namespace; its library will not reconnect by itself.
    public mutating func disconnect(_ namespace: String) -> SocketIOAction? {
        guard let index = index(of: namespace), namespaces[index].isConnected else { return nil }
        namespaces.remove(at: index)
        return .send(.disconnect(namespace: namespace))
    }
}

extension SocketIOPacket {
    /// The approximate memory that it takes in a queue. A packet without a payload takes some as well.
    fileprivate var queuedCost: Int {
        attachments.reduce(256 + (payload?.bytes.count ?? 0)) { $0 + $1.count + 64 }
    }
}
