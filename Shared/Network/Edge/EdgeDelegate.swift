import HTTP
import JSON
import Reactor
import SocketIO

/// What an application does with requests and sockets. There is one for each loop, and it is called on that loop only.
public protocol EdgeDelegate: AnyObject {
    /// A request came, to an endpoint or elsewhere, and nothing was done for it yet.
    ///
    /// - Returns: after how many seconds its client may come back, as it has asked too often: it gets a 429, and its connection ends. nil: the
    ///   request is served.
    func secondsToWait(of client: IPAddress) -> Int?

    /// A request's head came, to a path that is no endpoint's, and its body is larger than `HTTPLimits.maxUnaskedBodyBytes`.
    ///
    /// - Parameter request: without its body.
    /// - Returns: what it is answered with instead; nil: the body is taken, and the request then served.
    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String) -> HTTPResponse?

    /// Whether a request, to a path that is no endpoint's, comes from somebody who is signed in: what is buffered for them counts as a
    /// connected socket's does, in place of a stranger's. Asked only where that is more than a little.
    ///
    /// - Parameter request: without its body.
    func isSignedIn(_ request: HTTPRequest) -> Bool

    /// A request to a path that is no endpoint's. Answer it with the responder, now or later.
    ///
    /// - Parameter client: the peer, or whom a trusted proxy speaks for.
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder)

    /// The answer to a request that could not be served. Also the place to log it.
    func response(to failure: HTTPFailure) -> HTTPResponse

    /// A client asks for a namespace. Answer with `socket.accept` or `socket.refuse`, now or later; its events wait.
    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?)

    func socket(_ socket: Socket, received event: SocketIOEvent)

    /// An event came that is not taken; the socket goes on. An ack, if it wants one, is still to be sent.
    func socket(_ socket: Socket, refused event: SocketIOEvent, because refusal: SocketIORefusal)

    /// The answer to an event that was sent with an id.
    func socket(_ socket: Socket, receivedAck id: Int, namespace: String, arguments: [JSONValue])

    /// The client left a namespace; the socket stays open, and may ask again. Or it is to leave for good, and polls: `socketDidClose`
    /// follows once it has fetched what was sent to it.
    func socket(_ socket: Socket, leftNamespace namespace: String)

    /// A ping goes out to the client, after all that was sent before.
    func socketIsPinged(_ socket: Socket)

    /// The client has answered the last ping: it has all that was sent before that.
    func socketAnsweredPing(_ socket: Socket)

    /// Engine.IO without Socket.IO: a message.
    func socket(_ socket: Socket, received message: EnginePacket)

    /// The last call for a socket; also for one whose client never asked to connect.
    func socketDidClose(_ socket: Socket, reason: SocketCloseReason)

    /// A message at a WebSocket endpoint.
    func webSocket(_ webSocket: RawWebSocket, received message: ArraySlice<UInt8>, isBinary: Bool)
}

extension EdgeDelegate {
    public func secondsToWait(of client: IPAddress) -> Int? { nil }
    public func refusal(
        ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String
    ) -> HTTPResponse? { nil }
    public func isSignedIn(_ request: HTTPRequest) -> Bool { false }
    public func socket(_ socket: Socket, receivedAck id: Int, namespace: String, arguments: [JSONValue]) {}
    public func socket(_ socket: Socket, leftNamespace namespace: String) {}
    public func socketIsPinged(_ socket: Socket) {}
    public func socketAnsweredPing(_ socket: Socket) {}
    public func socket(_ socket: Socket, received message: EnginePacket) {}
    public func webSocket(_ webSocket: RawWebSocket, received message: ArraySlice<UInt8>, isBinary: Bool) {}

    public func response(to failure: HTTPFailure) -> HTTPResponse {
        HTTPResponse(
            status: failure.status, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Array("\(failure.reason)\n".utf8))
    }
}
