import HTTP
import Reactor

/// What is kept of the request that opened a socket: as little as an idle socket should hold.
public struct SocketHandshake: Sendable {
    /// Known to parse.
    let queryText: String
    /// The `Authorization` field, whole.
    public let authorization: String?
    /// The peer, or whom a trusted proxy spoke for.
    public let client: IPAddress

    /// Parsed anew with each call.
    public var query: HTTPQuery? { HTTPQuery(parsing: queryText) }
}
