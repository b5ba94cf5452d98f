import Edge
import HTTP
import JSON
import Reactor
import SocketIO

/// Sends back what it gets, as the reference test-suites' servers do.
final class Echo: EdgeDelegate {
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        responder.send(HTTPResponse(status: 404))
    }

    // MARK: /engine.io/

    func socket(_ socket: Socket, received message: EnginePacket) {
        let payload = Array(message.payload)
        socket.send(message.isBinary ? OutgoingPacket(binary: payload) : OutgoingPacket(.message, payload))
    }

    // MARK: /socket.io/

    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        socket.accept(namespace)
        socket.emit("auth", auth ?? .emptyObject, namespace: namespace)
    }

    func socket(_ socket: Socket, received event: SocketIOEvent) {
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

    func socket(_ socket: Socket, refused event: SocketIOEvent, because refusal: SocketIORefusal) {}

    func socketDidClose(_ socket: Socket, reason: SocketCloseReason) {}

    // MARK: /ws

    func webSocket(_ webSocket: RawWebSocket, received message: ArraySlice<UInt8>, isBinary: Bool) {
        webSocket.send(message, isBinary: isBinary)
    }
}
