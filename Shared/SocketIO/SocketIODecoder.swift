import JSON

/// Puts packets together with the binary messages that follow them.
public struct SocketIODecoder: Sendable {
    /// A packet, complete.
    public struct Message: Sendable, Equatable {
        public let packet: SocketIOPacket
        /// In the order of their placeholders' numbers. Empty if attachments are not kept.
        public let attachments: [[UInt8]]
    }

    private let maxAttachments: Int
    private let maxBytes: Int
    private let keepsAttachments: Bool

    private var pending: SocketIOPacket?
    private var attachments: [[UInt8]] = []
    private var missing = 0
    private var bytes = 0

    /// - Parameters:
    ///   - maxAttachments: of one packet.
    ///   - maxBytes: of one packet's attachments together.
    ///   - keepsAttachments: false to count them only, for a server that wants none.
    public init(maxAttachments: Int, maxBytes: Int, keepsAttachments: Bool = true) {
        self.maxAttachments = maxAttachments
        self.maxBytes = maxBytes
        self.keepsAttachments = keepsAttachments
    }

    /// Takes one Engine.IO message. nil: attachments are still to come.
    ///
    /// - Throws: if it is malformed, out of place, or over a limit. The decoder is of no use after that.
    public mutating func decode(_ message: EnginePacket) throws(ProtocolViolation) -> Message? {
        message.isBinary ? try decodeAttachment(message.payload) : try decodeText(message.payload)
    }

    private mutating func decodeText(_ text: ArraySlice<UInt8>) throws(ProtocolViolation) -> Message? {
        guard pending == nil else { throw ProtocolViolation("a text where an attachment is due") }
        let packet = try SocketIOPacket(parsing: text)
        guard packet.attachmentCount > 0 else { return Message(packet: packet, attachments: []) }
        guard packet.attachmentCount <= maxAttachments else { throw ProtocolViolation("too many attachments") }
        if let payload = packet.payload, !Self.placeholdersFit(payload, count: packet.attachmentCount) {
            throw ProtocolViolation("a placeholder without its attachment")
        }
        pending = packet
        missing = packet.attachmentCount
        return nil
    }

    private mutating func decodeAttachment(_ attachment: ArraySlice<UInt8>) throws(ProtocolViolation) -> Message? {
        guard let packet = pending else { throw ProtocolViolation("an attachment to nothing") }
        bytes += attachment.count
        guard bytes <= maxBytes else { throw ProtocolViolation("attachments that are too long") }
        if keepsAttachments { attachments.append(Array(attachment)) }
        missing -= 1
        guard missing == 0 else { return nil }
        defer {
            pending = nil
            attachments = []
            bytes = 0
        }
        return Message(packet: packet, attachments: attachments)
    }

    /// Whether every placeholder in the value names one of the attachments.
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
