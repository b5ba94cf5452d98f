import ParlorHTTP
import ParlorReactor
import ParlorSocketIO

/// The endpoints of an `EdgeServer`, and its limits.
public struct EdgeConfiguration: Sendable {
    public var endpoints: [EdgeEndpoint]
    public var http = HTTPLimits()

    /// The time limit from a request's first byte to the end of its head. For a connection's first request it
    /// starts when the connection opens.
    public var headTimeout: Duration = .seconds(10)
    /// The time limit from the end of the head to the end of the body.
    public var bodyTimeout: Duration = .seconds(30)
    /// The time limit between two requests. The default exceeds the minute for which most proxies keep connections open.
    public var idleTimeout: Duration = .seconds(75)

    /// The limits of connections, sockets and memory that clients hold at once.
    public var limits = EdgeLimits()

    /// The limit, in approximate bytes of memory, of the output that waits for one socket. A socket over it is a slow
    /// reader and is disconnected. `EdgeLimits.bufferedBytes` limits the responses to plain requests.
    public var maxUnsentBytes = 1 << 20
    /// The longest time in which a client may read nothing of its queued output.
    public var writeTimeout: Duration = .seconds(10)

    /// The proxies whose `X-Forwarded-For` is trusted. The header of any other peer is ignored, as anyone can
    /// send it.
    public var trustedProxies: [IPNetwork] = []

    /// The origins whose pages may use the endpoints and `sharedPaths`.
    public var allowedOrigins = AllowedOrigins.any
    /// The paths of plain requests that pages of the allowed origins may use. Each path includes everything below it,
    /// and is written without a trailing slash.
    public var sharedPaths: [String] = []

    /// Lets the output to clients wait; nil for nothing.
    public var outputGate: OutputGate?

    /// The prefix of every session id. It distinguishes instances behind one balancer, and consists of letters and
    /// digits.
    public var instance = ""

    public init(endpoints: [EdgeEndpoint]) { self.endpoints = endpoints }
}

extension EdgeConfiguration {
    /// Returns true if pages of the allowed origins may use a plain request's path.
    func isShared(_ path: String) -> Bool {
        sharedPaths.contains { path == $0 || path.hasPrefix($0 + "/") }
    }

    /// Returns the client of a request: the peer, unless that is a trusted proxy. Behind trusted proxies it is the
    /// last address in `X-Forwarded-For` that is not one of theirs, or the first address if all are.
    ///
    /// Each proxy appends the address of its peer. So the entries from the end up to the first untrusted
    /// address were all written by trusted proxies. Some write the port, too. If one of the entries is no address, the peer
    /// counts as the client. At most `maxProxies` entries are read, as a client can send thousands.
    func client(of request: HTTPRequest, from peer: IPAddress) -> IPAddress {
        guard isTrusted(peer) else { return peer }
        var (client, left) = (peer, Self.maxProxies)
        request.headers.forEachMemberFromTheEnd("X-Forwarded-For") { entry in
            guard let address = IPAddress(perhapsWithPort: entry) else {
                client = peer
                return false
            }
            (client, left) = (address, left - 1)
            return left > 0 && isTrusted(address)
        }
        return client
    }

    private static let maxProxies = 16

    /// Returns true if a trusted proxy sends a request of its own, such as a health check, and names no client.
    func isProxysOwn(_ request: HTTPRequest, from peer: IPAddress) -> Bool {
        isTrusted(peer) && request.headers["X-Forwarded-For"] == nil
    }

    /// Returns the address that a connection counts for, or nil for a trusted proxy, which carries many
    /// clients.
    func countedAddress(of peer: IPAddress) -> IPAddress? { isTrusted(peer) ? nil : peer.subscriber }

    private func isTrusted(_ address: IPAddress) -> Bool { trustedProxies.contains { $0.contains(address) } }
}

/// A path at which sockets are served. All other paths go to the delegate as plain requests.
public struct EdgeEndpoint: Sendable {
    public struct Content: Sendable {
        let engine: EngineConfiguration
        let socketIO: SocketIOConfiguration
        /// If set, it receives Engine.IO's messages in place of the Socket.IO layer. Called on the socket's loop.
        let takeMessage: (@Sendable (Socket, EnginePacket) -> Void)?

        public static func socketIO(_ engine: EngineConfiguration, _ socketIO: SocketIOConfiguration) -> Content {
            Content(engine: engine, socketIO: socketIO, takeMessage: nil)
        }

        /// Returns content that serves Engine.IO without Socket.IO, for Engine.IO's conformance suite.
        package static func engineIO(
            _ engine: EngineConfiguration, takeMessage: @escaping @Sendable (Socket, EnginePacket) -> Void
        ) -> Content {
            Content(engine: engine, socketIO: SocketIOConfiguration(), takeMessage: takeMessage)
        }
    }

    /// The path, which starts with a slash. Clients may leave out a slash at its end.
    public let path: String
    public var content: Content
    /// The size limit of WebSocket messages, in bytes.
    public var maxMessageBytes: Int

    /// Engine.IO: true to treat a request without `EIO` as one of version 4. The reference server refuses it.
    public var takesMissingVersion = false
    /// Socket.IO: the time limit for connecting to a namespace, after which the socket is closed; nil: no limit.
    public var connectTimeout: Duration? = .seconds(45)

    public init(path: String, _ content: Content) {
        precondition(path.hasPrefix("/"), "an endpoint's path starts with a slash")
        self.path = path
        self.content = content
        maxMessageBytes = content.engine.maxPayload
    }
}

/// An endpoint as it is served: one object shared by all its sockets.
final class ServedEndpoint {
    let settings: EdgeEndpoint

    init(_ settings: EdgeEndpoint) { self.settings = settings }

    var engine: EngineConfiguration { settings.content.engine }
    var socketIO: SocketIOConfiguration { settings.content.socketIO }
    /// The receiver of Engine.IO's messages, or nil if Socket.IO receives them.
    var takeMessage: (@Sendable (Socket, EnginePacket) -> Void)? { settings.content.takeMessage }

    /// True if a socket has to connect to a namespace.
    var needsConnect: Bool { takeMessage == nil }

    func matches(_ path: String) -> Bool {
        path == settings.path || (settings.path.hasSuffix("/") && path + "/" == settings.path)
    }
}
