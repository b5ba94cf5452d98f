/// One packet of Engine.IO 4, as it came in.
public struct EnginePacket: Sendable, Equatable {
    public enum Kind: UInt8, Sendable {
        case open = 0x30
        case close, ping, pong, message, upgrade, noop
    }

    public let kind: Kind
    /// What follows the kind. UTF-8 unless `isBinary`.
    public let payload: ArraySlice<UInt8>
    /// Only messages are.
    public let isBinary: Bool

    public init(_ kind: Kind, payload: ArraySlice<UInt8> = []) {
        self.kind = kind
        self.payload = payload
        isBinary = false
    }

    /// The message that a binary frame, or a `b` packet in a polling payload, stands for.
    public init(binary payload: ArraySlice<UInt8>) {
        kind = .message
        self.payload = payload
        isBinary = true
    }

    /// Parses a text packet: one digit, then the payload.
    public init(parsing text: ArraySlice<UInt8>) throws(ProtocolViolation) {
        guard let first = text.first else { throw ProtocolViolation("an empty packet") }
        guard let kind = Kind(rawValue: first) else { throw ProtocolViolation("an unknown packet type") }
        self.init(kind, payload: text.dropFirst())
    }

    static let probe = Array("probe".utf8)[...]
}
