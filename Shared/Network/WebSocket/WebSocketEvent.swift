/// An event from the parser.
public enum WebSocketEvent: Sendable, Equatable {
    /// A whole message, in valid UTF-8.
    case text([UInt8])
    /// A whole message.
    case binary([UInt8])
    /// A ping, to be answered with a pong of the same bytes.
    case ping([UInt8])
    case pong([UInt8])
    /// The peer's last frame. Answer it with a close frame, unless one was sent before. No event follows.
    /// Without a code the peer gave no reason.
    case close(code: UInt16?, reason: String)
}

/// The reason why a connection has to fail (RFC 6455, section 7.1.7): a close frame with this code
/// is sent, then the connection is closed.
public struct WebSocketError: Error, Equatable, CustomStringConvertible {
    /// 1002 for a breach of the protocol, 1007 for text that is not UTF-8, 1009 for a message that is too big.
    public let closeCode: UInt16
    /// A description for a developer. It fits a close frame, and contains no received byte.
    public let reason: String

    static func breach(_ reason: String) -> WebSocketError { WebSocketError(closeCode: 1002, reason: reason) }
    static let notUTF8 = WebSocketError(closeCode: 1007, reason: "the text is not UTF-8")
    static func tooBig(_ reason: String) -> WebSocketError { WebSocketError(closeCode: 1009, reason: reason) }

    public var description: String { "\(closeCode): \(reason)" }
}
