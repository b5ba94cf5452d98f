import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO

/// The application behind HTTP requests. There is one for each loop, and it is called on that loop only.
public protocol RequestDelegate: AnyObject {
    /// Asks whether a new request exceeds its client's rate, before anything else is done for it. The request may be
    /// for any path.
    ///
    /// - Returns: the seconds after which the client may come back; it gets a 429 and its connection ends.
    ///   nil: the request is served.
    func secondsToWait(of client: IPAddress) -> Int?

    /// Asks about a request to a path that is not an endpoint's, whose body is larger than
    /// `HTTPLimits.maxUnaskedBodyBytes`. Only its head has arrived.
    ///
    /// - Parameter request: the request, without its body.
    /// - Returns: the response to send instead, or nil to receive the body and then serve the request.
    func refusal(ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String) -> HTTPResponse?

    /// Returns the person who sent a request to a path that is not an endpoint's, or nil for a stranger. The
    /// bytes that are buffered for the request count as this person's, like those of their connected sockets
    /// (`Socket.person`). Called only if more than a little is buffered.
    ///
    /// - Parameter request: the request, without its body.
    func person(of request: HTTPRequest) -> String?

    /// Serves a request to a path that is not an endpoint's. Answer it with the responder, now or later.
    ///
    /// - Parameter client: the peer, or the client of a trusted proxy.
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder)

    /// Returns the response to a request that could not be served, and may log it.
    func response(to failure: HTTPFailure) -> HTTPResponse
}

extension RequestDelegate {
    public func secondsToWait(of client: IPAddress) -> Int? { nil }
    public func refusal(
        ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String
    ) -> HTTPResponse? { nil }
    public func person(of request: HTTPRequest) -> String? { nil }

    public func response(to failure: HTTPFailure) -> HTTPResponse {
        HTTPResponse(
            status: failure.status, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Array("\(failure.reason)\n".utf8))
    }
}

/// The application behind Socket.IO sockets. There is one for each loop, and it is called on that loop only.
public protocol SocketDelegate: AnyObject {
    /// Handles a client's request to connect to a namespace. Answer with `socket.accept` or `socket.refuse`, now or
    /// later. Until then the client's events wait.
    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?)

    /// Asks whether to take a large event, of which only the name has been read. `received` or `refused`
    /// follows if it is taken.
    ///
    /// - Parameter event: the event without its arguments. The name is empty if the message does not begin like an
    ///   event with a short name.
    /// - Returns: false to drop the event. If it requests an ack, the delegate still has to send one.
    func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool

    /// - Parameter bytes: the size of the event's message; 0 if the event waited until its namespace was connected.
    func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int)

    /// Handles an event that was refused; the socket stays open. If the event requests an ack, the delegate
    /// still has to send one.
    func socket(_ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal)

    /// Handles a client that left a namespace; the socket stays open, and may connect again. Also called for
    /// a polling client that is being disconnected: `socketDidClose` follows once it has fetched what was
    /// sent to it.
    func socket(_ socket: Socket, leftNamespace namespace: String)

    /// Called when a ping is sent to the client, after everything that was sent before.
    func socketIsPinged(_ socket: Socket)

    /// Called when the client has answered the last ping: it has received everything that was sent before.
    func socketAnsweredPing(_ socket: Socket)

    /// Called last for a socket, also for one whose client never asked to connect.
    func socketDidClose(_ socket: Socket, reason: SocketCloseReason)
}

extension SocketDelegate {
    public func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool { true }
    public func socket(_ socket: Socket, leftNamespace namespace: String) {}
    public func socketIsPinged(_ socket: Socket) {}
    public func socketAnsweredPing(_ socket: Socket) {}
}

/// The reason why a request could not be served.
public struct HTTPFailure: Sendable {
    /// The response's status: 400, 408, 413, 414, 417, 426, 429, 431, 500, 501, 503 or 505.
    public let status: Int
    /// A description for a developer. It contains no byte of the request.
    public let reason: String
    public let requestID: String
    /// The `Retry-After`, in seconds; nil if there is none. The edge adds it to a response without one.
    public let retryAfter: Int?

    /// The time to wait after a refusal because of full buffers or connection limits, in seconds. By then the load
    /// has probably changed.
    static let pauseWhenFull = 5

    init(status: Int, reason: String, requestID: String, retryAfter: Int? = nil) {
        self.status = status
        self.reason = reason
        self.requestID = requestID
        self.retryAfter = retryAfter
    }

    init(_ excess: ClientUsage.Excess, of things: String, requestID: String) {
        self.init(
            status: excess.status, reason: excess.reason(things), requestID: requestID, retryAfter: Self.pauseWhenFull)
    }
}

extension ClientUsage.Excess {
    var status: Int { self == .total ? 503 : 429 }

    func reason(_ things: String) -> String {
        switch self {
        case .total: "there are too many \(things)"
        case .perAddress: "there are too many \(things) from this address"
        case .perPerson: "there are too many \(things) of one person"
        }
    }
}

/// The reason why a socket ended.
public enum SocketCloseReason: Sendable, Equatable {
    case engine(EngineCloseReason)
    /// The client did not read what it was sent.
    case slowReader
    /// What waits for the client may not be sent any more.
    case abandoned
    /// The client did not send CONNECT in time.
    case connectTimeout
    /// The client sent too much before CONNECT.
    case tooManyMessages
    /// The server has too many sockets, or too much is buffered for them.
    case overload
    /// The server is shutting down.
    case draining
}
