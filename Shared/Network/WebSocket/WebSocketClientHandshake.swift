import ParlorSecurity

/// The client's part of the opening handshake (RFC 6455, section 4.1).
public struct WebSocketClientHandshake: Sendable {
    /// The reason why an answer does not open the connection.
    public enum Failure: Error, Equatable {
        /// The server answered with a status other than 101.
        case refused(status: Int)
        /// The answer is a 101, but not to this request.
        case wrongAnswer(String)
    }

    private let key: String

    /// - Parameter nonce: 16 random bytes, new for each connection.
    public init(nonce: [UInt8]) {
        precondition(nonce.count == 16, "a WebSocket's nonce has 16 bytes")
        key = Base64.encode(nonce)
    }

    /// Returns the bytes of the request to upgrade.
    ///
    /// - Parameters:
    ///   - host: the host, with the port if it is not the scheme's default.
    ///   - target: path and query, percent-encoded.
    public func request(
        host: String, target: String, additionalHeaders: [(name: String, value: String)] = []
    ) -> [UInt8] {
        precondition(target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "the target is not percent-encoded")
        return WebSocketHandshake.head(
            "GET \(target) HTTP/1.1",
            [
                ("Host", host), ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", key),
                ("Sec-WebSocket-Version", "13"),
            ] + additionalHeaders)
    }

    /// Checks the server's response. If this returns, the bytes after the head are frames.
    ///
    /// - Parameter header: returns all values of the fields with a name, in order and as they were sent.
    public func check(status: Int, header: (String) -> [String]) throws(Failure) {
        guard status == 101 else { throw .refused(status: status) }
        guard WebSocketHandshake.list(header("Upgrade"), contains: "websocket"),
            WebSocketHandshake.list(header("Connection"), contains: "upgrade")
        else { throw .wrongAnswer("it upgrades to something else") }
        guard header("Sec-WebSocket-Accept") == [WebSocketHandshake.acceptValue(forKey: key)] else {
            throw .wrongAnswer("Sec-WebSocket-Accept does not fit the key")
        }
        guard header("Sec-WebSocket-Extensions").isEmpty, header("Sec-WebSocket-Protocol").isEmpty else {
            throw .wrongAnswer("it takes an extension or a protocol that was not offered")
        }
    }
}
