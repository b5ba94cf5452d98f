import HTTP
import Reactor
import SocketIO

/// What an `EdgeServer` serves, and its limits.
public struct EdgeConfiguration: Sendable {
    public var endpoints: [EdgeEndpoint]
    public var http = HTTPLimits()

    /// From a request's first byte (a connection's opening, for its first request) to the end of its head.
    public var headTimeout: Duration = .seconds(10)
    /// From the end of the head to the end of the body.
    public var bodyTimeout: Duration = .seconds(30)
    /// Between two requests. Longer than the minute that proxies keep their side open.
    public var idleTimeout: Duration = .seconds(75)

    /// What clients may hold at once: connections, sockets, memory.
    public var limits = EdgeLimits()

    /// The memory, about, of what may wait to be sent to one client; over it, the client is a slow reader and is cut off.
    public var maxPendingBytes = 1 << 20
    /// How long a client may take nothing of what waits for it.
    public var writeTimeout: Duration = .seconds(10)

    /// Whose `X-Forwarded-For` is believed. All others' is not looked at: anyone can send it.
    public var trustedProxies: [IPNetwork] = []

    /// Starts every session id, so that instances behind one balancer tell theirs apart. Letters and digits.
    public var instance = ""

    public init(endpoints: [EdgeEndpoint]) { self.endpoints = endpoints }
}
