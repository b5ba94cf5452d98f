import ParlorJSON

/// Combines packets with the binary messages that follow them.
///
/// A server that takes no attachments needs it too: clients may send them, and the start of the next packet
/// must be known.
public struct SocketIODecoder: Sendable {
    private let maxAttachments: Int
    private let maxBytes: Int
    private let keepsAttachments: Bool

    private enum State {
        case idle
        /// Indirect, as most decoders stay idle, and there is one for each client.
        indirect case gathering(SocketIOPacket, missing: Int, bytes: Int)
    }

    private var state = State.idle

    /// - Parameters:
    ///   - maxAttachments: the limit for one packet.
    ///   - maxBytes: the limit of one packet's attachments together.
    ///   - keepsAttachments: false to count them only, for a server that takes none.
    public init(maxAttachments: Int, maxBytes: Int, keepsAttachments: Bool = true) {
        self.maxAttachments = maxAttachments
        self.maxBytes = maxBytes
        self.keepsAttachments = keepsAttachments
    }

    /// True if no attachments are expected.
    var isIdle: Bool { if case .idle = state { true } else { false } }

    /// Decodes one Engine.IO message. Returns nil while attachments are missing.
    ///
    /// - Throws: if the message is malformed, unexpected, or over a limit. The decoder cannot be used after
    ///   that.
    public mutating func decode(_ message: EnginePacket) throws(ProtocolViolation) -> SocketIOPacket? {
        if message.isBinary { return try decodeAttachment(message.payload) }
        guard case .idle = state else { throw ProtocolViolation("a text where an attachment is due") }
        // An event whose attachments are dropped is refused, whatever its arguments are.
        let packet = try SocketIOPacket(parsing: message.payload, dropsAttachments: !keepsAttachments)
        guard packet.attachmentCount > 0 else { return packet }
        guard packet.attachmentCount <= maxAttachments else { throw ProtocolViolation("too many attachments") }
        // If attachments are dropped, their placeholders do not matter, and the search would parse each level
        // again.
        if keepsAttachments, let payload = packet.payload,
            !Self.placeholdersFit(payload, count: packet.attachmentCount)
        {
            throw ProtocolViolation("a placeholder without its attachment")
        }
        state = .gathering(packet, missing: packet.attachmentCount, bytes: 0)
        return nil
    }

    private mutating func decodeAttachment(_ attachment: ArraySlice<UInt8>) throws(ProtocolViolation) -> SocketIOPacket?
    {
        guard case .gathering(var packet, let missing, let bytes) = state else {
            throw ProtocolViolation("an attachment that no packet announced")
        }
        guard bytes + attachment.count <= maxBytes else { throw ProtocolViolation("attachments that are too long") }
        if keepsAttachments { packet.attachments.append(Array(attachment)) }
        if missing == 1 {
            state = .idle
            return packet
        }
        state = .gathering(packet, missing: missing - 1, bytes: bytes + attachment.count)
        return nil
    }

    /// Returns true if every placeholder in the value names one of the attachments.
    private static func placeholdersFit(_ value: JSONValue, count: Int) -> Bool {
        switch value.kind {
        case .array: return value.array?.allSatisfy { placeholdersFit($0, count: count) } ?? true
        case .object:
            guard let object = value.object else { return true }
            if object["_placeholder"]?.bool == true {
                guard let number = object["num"]?.int else { return false }
                return (0..<count).contains(number)
            }
            return object.all.allSatisfy { placeholdersFit($0.value, count: count) }
        default: return true
        }
    }
}
