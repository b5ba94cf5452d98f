/// What the parser has found.
public enum WebSocketEvent: Sendable, Equatable {
    /// A whole message, in valid UTF-8.
    case text([UInt8])
    /// A whole message.
    case binary([UInt8])
    /// To be answered with a pong of the same bytes.
    case ping([UInt8])
    case pong([UInt8])
    /// The peer has said its last: to be answered with a close frame, unless one was sent before. No event follows.
    /// Without a code the peer gave no reason.
    case close(code: UInt16?, reason: String)
}
