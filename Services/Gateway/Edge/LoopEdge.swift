import Edge
import HTTP
import JSON
import Reactor
import SocketIO

/// Connects a loop's edge to its fronts, on the loop, without queues or copies.
package final class LoopEdge: EdgeDelegate {
    private let http: HTTPFront
    private let sockets: SocketFront

    package init(_ http: HTTPFront, _ sockets: SocketFront) {
        self.http = http
        self.sockets = sockets
    }

    // MARK: HTTP

    package func secondsToWait(of client: IPAddress) -> Int? { http.admission.limits.secondsToWait(of: client) }

    package func refusal(
        ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String
    ) -> HTTPResponse? {
        http.refusal(ofLargeBody: request, from: client, requestID: requestID)
    }

    package func person(of request: HTTPRequest) -> String? { http.admission.person(of: request) }

    package func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        http.onLoop { $0.respond(to: request, from: client, using: responder) }
    }

    package func response(to failure: HTTPFailure) -> HTTPResponse {
        .failure(failure)
    }

    // MARK: Sockets

    package func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        sockets.onLoop { $0.connect(socket, auth: auth) }
    }

    package func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool {
        sockets.onLoop { $0.takes(event, ofBytes: bytes, on: socket) }
    }

    package func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int) {
        sockets.onLoop { $0.receive(event, ofBytes: bytes, on: socket) }
    }

    package func socket(
        _ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal
    ) {
        let message =
            switch refusal {
            case .attachments: "Attachments are not taken here."
            case .depth: "The event's payload is nested too deeply."
            case .number: "The event has a number of more than 64 characters, or one beyond a double."
            case .text: "The event has text with half a surrogate pair, or with too many combining marks in a row."
            }
        sockets.onLoop { $0.refuse(event, ofBytes: bytes, .init(.malformedRequest, message), on: socket) }
    }

    package func socketIsPinged(_ socket: Socket) { sockets.onLoop { $0.notePing(on: socket) } }

    package func socketAnsweredPing(_ socket: Socket) { sockets.onLoop { $0.noteAnsweredPing(on: socket) } }

    package func socket(_ socket: Socket, leftNamespace namespace: String) {
        sockets.onLoop { $0.disconnect(socket) }
    }

    package func socketDidClose(_ socket: Socket, reason: SocketCloseReason) {
        sockets.onLoop { $0.disconnect(socket) }
    }
}
