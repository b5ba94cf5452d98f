import ParlorEdge
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO

/// Echoes what it receives, as the reference test suites' servers do.
final class Echo: RequestDelegate, SocketDelegate {
    /// The longest message of the WebSocket suites.
    private static let maxMessageBytes = 16 << 20

    /// Upgrades `/ws` to a plain WebSocket.
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        guard request.path == "/ws" else { return responder.send(HTTPResponse(status: 404)) }
        responder.openWebSocket(for: request, maxMessageBytes: Self.maxMessageBytes) { webSocket, message, isBinary in
            webSocket.send(message, isBinary: isBinary)
        }
    }

    // MARK: /engine.io/

    static func sendBack(_ message: EnginePacket, to socket: Socket) {
        let payload = Array(message.payload)
        socket.send(message.isBinary ? OutgoingPacket(binary: payload) : OutgoingPacket(.message, payload))
    }

    // MARK: /socket.io/

    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        socket.accept(namespace)
        socket.send(.event("auth", [auth ?? .emptyObject], namespace: namespace))
    }

    func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int) {
        switch event.name {
        case "message":
            socket.send(
                OutgoingPacket.event(
                    "message-back", event.arguments, attachments: event.attachments, namespace: event.namespace))
        case "message-with-ack":
            guard let id = event.ackID else { return }
            socket.send(
                OutgoingPacket.ack(id, event.arguments, attachments: event.attachments, namespace: event.namespace))
        default: break
        }
    }

    func socket(_ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal) {}

    func socketDidClose(_ socket: Socket, reason: SocketCloseReason) {}
}
