import HTTP
import Reactor
import SocketIO

/// The endpoints of an `EdgeServer`, and its limits.
public struct EdgeConfiguration: Sendable {
    public var endpoints: [EdgeEndpoint]
    public var http = HTTPLimits()

    /// From a request's first byte (a connection's opening, for its first request) to the end of its head.
    public var headTimeout: Duration = .seconds(10)
    /// From the end of the head to the end of the body.
    public var bodyTimeout: Duration = .seconds(30)
    /// Between two requests. Longer than the minute that proxies keep their side open.
    public var idleTimeout: Duration = .seconds(75)

    /// The limits of connections, sockets and memory that clients hold at once.
    public var limits = EdgeLimits()

    /// The memory, about, of what may wait to be sent to one client; over it, the client is a slow reader and is cut off.
    public var maxUnsentBytes = 1 << 20
    /// The longest time in which a client may read nothing of its queued output.
    public var writeTimeout: Duration = .seconds(10)

    /// Whose `X-Forwarded-For` is believed. All others' is not looked at: anyone can send it.
    public var trustedProxies: [IPNetwork] = []

    /// The origins whose pages may use the endpoints and `sharedPaths`.
    public var allowedOrigins = AllowedOrigins.any
    /// Paths of plain requests, each with all below it; no slash at the end.
    public var sharedPaths: [String] = []

    /// Starts every session id, so that instances behind one balancer tell theirs apart. Letters and digits.
    public var instance = ""

    public init(endpoints: [EdgeEndpoint]) { self.endpoints = endpoints }
}

extension EdgeConfiguration {
    /// Whether pages of the allowed origins may use a plain request's path.
    func isShared(_ path: String) -> Bool {
        sharedPaths.contains { path == $0 || path.hasPrefix($0 + "/") }
    }

    /// The client of a request: the peer; behind trusted proxies the nearest address in `X-Forwarded-For` that is none of
    /// theirs, or the farthest if all are.
    ///
    /// Each proxy appends the address of its own peer. So from the end up to the first stranger, all was written by trusted
    /// proxies. An entry there that is no address makes the peer count.
    func client(of request: HTTPRequest, from peer: IPAddress) -> IPAddress {
        guard isTrusted(peer) else { return peer }
        var client = peer
        for entry in request.headers.members("X-Forwarded-For").reversed() {
            guard let address = IPAddress(entry) else { return peer }
            client = address
            if !isTrusted(address) { break }
        }
        return client
    }

    /// Whether a trusted proxy asks for itself, as its health checks do: it names nobody.
    func isProxysOwn(_ request: HTTPRequest, from peer: IPAddress) -> Bool {
        isTrusted(peer) && request.headers["X-Forwarded-For"] == nil
    }

    /// Who a connection's limits count; nil for a trusted proxy, which speaks for many.
    func countedAddress(of peer: IPAddress) -> IPAddress? { isTrusted(peer) ? nil : peer.subscriber }

    private func isTrusted(_ address: IPAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }
}

/// A path at which sockets are served. All other paths go to the delegate as plain requests.
public struct EdgeEndpoint: Sendable {
    public struct Content: Sendable {
        let engine: EngineConfiguration
        let socketIO: SocketIOConfiguration
        /// Takes Engine.IO's messages in place of Socket.IO, on the socket's loop.
        let takeMessage: (@Sendable (Socket, EnginePacket) -> Void)?

        public static func socketIO(_ engine: EngineConfiguration, _ socketIO: SocketIOConfiguration) -> Content {
            Content(engine: engine, socketIO: socketIO, takeMessage: nil)
        }

        /// Engine.IO alone, as its conformance suite wants it.
        package static func engineIO(
            _ engine: EngineConfiguration, takeMessage: @escaping @Sendable (Socket, EnginePacket) -> Void
        ) -> Content {
            Content(engine: engine, socketIO: SocketIOConfiguration(), takeMessage: takeMessage)
        }
    }

    /// Starts with a slash. One at the end may be left out by clients.
    public let path: String
    public var content: Content
    /// Of WebSocket messages.
    public var maxMessageBytes: Int

    /// Engine.IO: whether a request without `EIO` is of version 4. The reference server refuses it.
    public var takesMissingVersion = false
    /// Socket.IO: a client that has connected to no namespace by then is closed.
    public var connectTimeout: Duration? = .seconds(45)

    public init(path: String, _ content: Content) {
        precondition(path.hasPrefix("/"), "an endpoint's path starts with a slash")
        self.path = path
        self.content = content
        maxMessageBytes = content.engine.maxPayload
    }
}

/// An endpoint as it is served: one object for all the sockets that it has.
final class ServedEndpoint {
    let settings: EdgeEndpoint

    init(_ settings: EdgeEndpoint) { self.settings = settings }

    var engine: EngineConfiguration { settings.content.engine }
    var socketIO: SocketIOConfiguration { settings.content.socketIO }
    /// nil: Socket.IO takes the messages.
    var takeMessage: (@Sendable (Socket, EnginePacket) -> Void)? { settings.content.takeMessage }

    /// True if a socket has to connect to a namespace.
    var needsConnect: Bool { takeMessage == nil }

    func matches(_ path: String) -> Bool {
        path == settings.path || (settings.path.hasSuffix("/") && path + "/" == settings.path)
    }
}
