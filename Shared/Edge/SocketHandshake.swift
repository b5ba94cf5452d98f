import HTTP
import Reactor

/// What is kept of the request that opened a socket: as little as an idle socket should hold.
public struct SocketHandshake: Sendable {
    public let query: HTTPQuery
    /// The `Authorization` field, whole.
    public let authorization: String?
    public let peer: PeerAddress
    public let requestID: String
}
