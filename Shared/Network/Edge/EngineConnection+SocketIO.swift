import ParlorJSON
import ParlorSecurity
import ParlorSocketIO

/// The translation between Engine.IO messages and Socket.IO packets.
extension EngineConnection {
    /// The size over which a message is previewed before it is parsed: checking a megabyte of JSON takes up
    /// to 10 ms, the preview a tenth of a millisecond.
    private static let largeMessage = 16 * 1024

    func deliver(_ message: EnginePacket) {
        guard takesMessages else { return }
        guard admitMessage() else { return close(.tooManyMessages) }
        if let takeMessage = endpoint.takeMessage {
            takeMessage(socket, message)
        } else if message.payload.count <= Self.largeMessage || takesLarge(message),
            let action = socketIO.receive(message)
        {
            perform(action, ofBytes: message.payload.count)
        }
    }

    private func takesLarge(_ message: EnginePacket) -> Bool {
        switch socketIO.preview(of: message) {
        case .event(let event): edge.sockets?.socket(socket, takes: event, ofBytes: message.payload.count) ?? true
        // No server here asks its clients for acks.
        case .ack, .ignored: false
        case nil: true
        }
    }

    /// - Parameter bytes: the size of the message that caused the action, if it has just arrived.
    private func perform(_ action: SocketIOAction, ofBytes bytes: Int = 0) {
        guard takesMessages else { return }
        switch action {
        case .send(let packet): send(packet)
        case .checkConnect(let namespace, let auth):
            edge.sockets?.socket(socket, asksToConnect: namespace, auth: auth)
        // A handler of an earlier event may have ended the connection to the namespace.
        case .event(let event) where isConnected(to: event.namespace):
            edge.sockets?.socket(socket, received: event, ofBytes: bytes)
        case .refuse(let event, let refusal) where isConnected(to: event.namespace):
            edge.sockets?.socket(socket, refused: event, ofBytes: bytes, because: refusal)
        case .event, .refuse: break
        // No server here asks its clients for acks.
        case .ack: break
        case .disconnected(let namespace):
            edge.sockets?.socket(socket, leftNamespace: namespace)
            if socketIO.connectedNamespaces.isEmpty { didLeave() }
        case .close(let violation): close(.engine(.violation(violation)))
        }
    }

    func isConnected(to namespace: String) -> Bool { socketIO.isConnected(to: namespace) }

    func accept(_ namespace: String, payload: JSONValue?) {
        let actions = socketIO.accept(
            namespace, sid: Base64URL.encode(edge.randomness.bytes(15)), payload: payload)
        if actions.isEmpty { return }
        didConnect()
        for action in actions { perform(action) }
    }

    func refuse(_ namespace: String, error: JSONValue) {
        if let action = socketIO.refuse(namespace, error: error) { perform(action) }
    }

    /// Disconnects a client that must not come back.
    func leave() {
        let namespaces = socketIO.connectedNamespaces
        for namespace in namespaces { if let action = socketIO.disconnect(namespace) { perform(action) } }
        leaveEngine()
        // A polling client stays until it has fetched the packets or times out. It is not a member of
        // anything meanwhile.
        if engine.isClosed { return }
        for namespace in namespaces { edge.sockets?.socket(socket, leftNamespace: namespace) }
    }
}
