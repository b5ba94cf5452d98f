import Edge
import HTTP
import JSON
import Reactor
import SocketIO

/// Where the edge enters a shard: on its loop, so that nothing has to wait or be copied.
final class ShardDelegate: EdgeDelegate {
    private let shard: Shard

    init(_ shard: Shard) { self.shard = shard }

    func secondsToWait(of client: IPAddress) -> Int? { shard.secondsToWait(of: client) }

    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String) -> HTTPResponse? {
        shard.assumeIsolated { shard in
            shard.refusal(ofLargeBody: request, from: client).map { .error($0, requestID: requestID) }
        }
    }

    func isSignedIn(_ request: HTTPRequest) -> Bool {
        shard.assumeIsolated { $0.context.tokens.verify(authorization: request.headers["Authorization"]) != nil }
    }

    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder) {
        shard.assumeIsolated { $0.respond(to: request, from: client, using: responder) }
    }

    func response(to failure: HTTPFailure) -> HTTPResponse {
        .failure(failure.status, failure.reason, requestID: failure.requestID)
    }

    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        shard.assumeIsolated { $0.connect(socket, auth: auth) }
    }

    func socket(_ socket: Socket, received event: SocketIOEvent) {
        shard.assumeIsolated { $0.receive(event, on: socket) }
    }

    func socket(_ socket: Socket, refused event: SocketIOEvent, because refusal: SocketIORefusal) {
        let message =
            switch refusal {
            case .attachments: "Attachments are not taken here."
            case .depth: "The event's payload is nested too deeply."
            }
        shard.assumeIsolated { $0.refuse(event, .init(.malformedRequest, message), on: socket) }
    }

    func socketIsPinged(_ socket: Socket) { shard.assumeIsolated { $0.notePing(on: socket) } }

    func socketAnsweredPing(_ socket: Socket) { shard.assumeIsolated { $0.noteAnsweredPing(on: socket) } }

    func socket(_ socket: Socket, leftNamespace namespace: String) {
        shard.assumeIsolated { $0.disconnect(socket) }
    }

    func socketDidClose(_ socket: Socket, reason: SocketCloseReason) {
        shard.assumeIsolated { $0.disconnect(socket) }
    }
}
