import HTTP
import JSON
import Reactor
import SocketIO

/// The application behind requests and sockets. There is one for each loop, and it is called on that loop only.
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

    /// Who is signed in and sends a request to a path that is no endpoint's: what is buffered for it counts as theirs, as that of their
    /// connected sockets does (`Socket.person`). nil: a stranger. Asked only where more than a little is buffered.
    ///
    /// - Parameter request: without its body.
    func person(of request: HTTPRequest) -> String?

    /// A request to a path that is no endpoint's. Answer it with the responder, now or later.
    ///
    /// - Parameter client: the peer, or whom a trusted proxy speaks for.
    func respond(to request: HTTPRequest, from client: IPAddress, using responder: HTTPResponder)

    /// The answer to a request that could not be served. Also the place to log it.
    func response(to failure: HTTPFailure) -> HTTPResponse

    /// A client asks for a namespace. Answer with `socket.accept` or `socket.refuse`, now or later; its events wait.
    func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?)

    /// A large event came, and nothing but its name is read; `received` or `refused` follows if it is taken.
    ///
    /// - Parameter event: without its arguments. The name is empty if it does not begin as an event with a short name does.
    /// - Returns: false to leave it out. An ack, if it wants one, is still to be sent.
    func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool

    /// - Parameter bytes: of its message; 0 for an event that waited for its CONNECT.
    func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int)

    /// An event came that is not taken; the socket goes on. An ack, if it wants one, is still to be sent.
    func socket(_ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal)

    /// The client left a namespace; the socket stays open, and may ask again. Or it is to leave for good, and polls: `socketDidClose`
    /// follows once it has fetched what was sent to it.
    func socket(_ socket: Socket, leftNamespace namespace: String)

    /// A ping goes out to the client, after all that was sent before.
    func socketIsPinged(_ socket: Socket)

    /// The client has answered the last ping: it has all that was sent before that.
    func socketAnsweredPing(_ socket: Socket)

    /// The last call for a socket; also for one whose client never asked to connect.
    func socketDidClose(_ socket: Socket, reason: SocketCloseReason)
}

extension EdgeDelegate {
    public func secondsToWait(of client: IPAddress) -> Int? { nil }
    public func refusal(
        ofLargeBody request: HTTPRequest, from client: IPAddress, requestID: String
    ) -> HTTPResponse? { nil }
    public func person(of request: HTTPRequest) -> String? { nil }
    public func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool { true }
    public func socket(_ socket: Socket, leftNamespace namespace: String) {}
    public func socketIsPinged(_ socket: Socket) {}
    public func socketAnsweredPing(_ socket: Socket) {}

    public func response(to failure: HTTPFailure) -> HTTPResponse {
        HTTPResponse(
            status: failure.status, headers: ["Content-Type": "text/plain; charset=utf-8"],
            body: Array("\(failure.reason)\n".utf8))
    }
}

/// Why a request could not be served.
public struct HTTPFailure: Sendable {
    /// 400, 408, 413, 414, 417, 429, 431, 500, 501, 503 or 505.
    public let status: Int
    /// For a developer; never a byte of the request.
    public let reason: String
    public let requestID: String

    /// When to come back after a refusal for want of room, in seconds: what waits for clients has changed by then.
    static let retryAfter = "5"

    init(status: Int, reason: String, requestID: String) {
        self.status = status
        self.reason = reason
        self.requestID = requestID
    }

    init(_ excess: ClientUsage.Excess, of things: String, requestID: String) {
        self.init(status: excess.status, reason: excess.reason(things), requestID: requestID)
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

/// Why a socket ended.
public enum SocketCloseReason: Sendable, Equatable {
    case engine(EngineCloseReason)
    /// The client did not take what it was sent.
    case slowReader
    /// No CONNECT in time.
    case connectTimeout
    /// Too much was sent before CONNECT.
    case tooManyMessages
    /// There are too many, or too much is buffered for them.
    case overload
    /// The server is shutting down.
    case draining
}
