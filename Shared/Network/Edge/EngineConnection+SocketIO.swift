import JSON
import Security
import SocketIO

/// The Socket.IO layer, where the endpoint has it.
extension EngineConnection {
    func deliver(_ message: EnginePacket) {
        guard takesMessages else { return }
        guard admitMessage() else { return close(.tooManyMessages) }
        if socketIO == nil {
            edge.delegate.socket(socket, received: message)
        } else if let actions = socketIO?.receive(message) {
            perform(actions)
        }
    }

    func perform(_ actions: [SocketIOAction]) {
        for action in actions where takesMessages {
            switch action {
            case .send(let packet): send(packet)
            case .checkConnect(let namespace, let auth):
                edge.delegate.socket(socket, asksToConnect: namespace, auth: auth)
            // A handler of an earlier event may have ended the connection to the namespace.
            case .event(let event) where isConnected(to: event.namespace): edge.delegate.socket(socket, received: event)
            case .refuse(let event, let refusal) where isConnected(to: event.namespace):
                edge.delegate.socket(socket, refused: event, because: refusal)
            case .event, .refuse: break
            case .ack(let namespace, let id, let arguments, _):
                edge.delegate.socket(socket, receivedAck: id, namespace: namespace, arguments: arguments)
            case .disconnected(let namespace):
                edge.delegate.socket(socket, leftNamespace: namespace)
                if socketIO?.connectedNamespaces.isEmpty == true { didLeave() }
            case .close(let violation): close(.engine(.violation(violation)))
            }
        }
    }

    func isConnected(to namespace: String) -> Bool { socketIO?.isConnected(to: namespace) ?? false }

    func accept(_ namespace: String, payload: JSONValue?) {
        let sid = Base64URL.encode(edge.randomness.bytes(15))
        guard let actions = socketIO?.accept(namespace, sid: sid, payload: payload), !actions.isEmpty else { return }
        didConnect()
        perform(actions)
    }

    func refuse(_ namespace: String, error: JSONValue) {
        if let actions = socketIO?.refuse(namespace, error: error) { perform(actions) }
    }

    /// For a client that must not come back.
    func leave() {
        let namespaces = socketIO?.connectedNamespaces ?? []
        for namespace in namespaces { if let actions = socketIO?.disconnect(namespace) { perform(actions) } }
        leaveEngine()
        // One that polls is there until it has fetched that, or has not in time: it is no member of anything meanwhile.
        if engine.isClosed { return }
        for namespace in namespaces { edge.delegate.socket(socket, leftNamespace: namespace) }
    }
}
