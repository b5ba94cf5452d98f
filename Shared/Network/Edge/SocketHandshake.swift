import HTTP
import Reactor

/// What is kept of the request that opened a socket: as little as an idle socket should hold.
public struct SocketHandshake: Sendable {
    /// The `token` of the query.
    public let token: String?
    /// The `Authorization` field, whole; nil if the query has a token.
    public let authorization: String?
    /// The peer, or whoever a trusted proxy spoke for.
    public let client: IPAddress

    /// Longer ones are no tokens, and are not kept: a client chooses them, and many may wait.
    static let maxTokenLength = 8 * 1024

    init(of request: HTTPRequest, _ query: HTTPQuery, from client: IPAddress) {
        func kept(_ text: String?) -> String? { text.flatMap { $0.utf8.count <= Self.maxTokenLength ? $0 : nil } }
        let given = query["token"]
        token = kept(given)
        authorization = given == nil ? kept(request.headers["Authorization"]) : nil
        self.client = client
    }
}
