/// Why a connection has to fail (RFC 6455, section 7.1.7): a close frame with this code goes out, then the connection is
/// closed.
public struct WebSocketError: Error, Equatable, CustomStringConvertible {
    /// 1002 for a breach of the protocol, 1007 for text that is not UTF-8, 1009 for a message that is too big.
    public let closeCode: UInt16
    /// For a developer to read; short enough for a close frame, and never a byte of what was sent.
    public let reason: String

    static func breach(_ reason: String) -> WebSocketError { WebSocketError(closeCode: 1002, reason: reason) }
    static let notUTF8 = WebSocketError(closeCode: 1007, reason: "the text is not UTF-8")
    static func tooBig(_ reason: String) -> WebSocketError { WebSocketError(closeCode: 1009, reason: reason) }

    public var description: String { "\(closeCode): \(reason)" }
}
