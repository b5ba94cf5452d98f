import ParlorJSON

/// A packet of Socket.IO 5 that was received.
public struct SocketIOPacket: Sendable, Equatable {
    public enum Kind: UInt8, Sendable {
        case connect = 0x30
        case disconnect, event, ack, connectError, binaryEvent, binaryAck
    }

    public static let mainNamespace = "/"

    public let kind: Kind
    /// The namespace, which starts with a slash, without the query that some clients append to it.
    public private(set) var namespace = SocketIOPacket.mainNamespace
    public private(set) var id: Int?
    /// The first element of an event's array. A number counts as its text, as the reference clients can send
    /// one.
    public private(set) var eventName: String?
    /// The values after the name in an event, and all values of an ack.
    public private(set) var arguments: [JSONValue] = []
    /// The payload: for CONNECT an object or nil, for CONNECT_ERROR an object or a string, for events and
    /// acks the whole array; nil if the arguments are left out.
    public private(set) var payload: JSONValue?
    /// The reason why parsing left out an event's arguments, although its name is known; nil if nothing was refused.
    /// Parsing stops at the bracket that is nested too deeply or at the refused string. The text after it is not
    /// checked.
    public private(set) var refusal: SocketIORefusal?
    /// The number of binary messages that follow this one.
    public private(set) var attachmentCount = 0
    /// The binary messages, in the order of their placeholders' numbers. `SocketIODecoder` sets them if it
    /// keeps attachments.
    public internal(set) var attachments: [[UInt8]] = []

    /// Names of events that client libraries use for their own (the reference parser's list). No other event may have one.
    public static let reservedNames: Set<String> = [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
    ]

    private static let maxNamespaceBytes = 255

    /// The limit of a number's digits: more than any client counts to, and the number always fits.
    private static let maxDigits = 15

    /// The length limit of names in a preview. Names that services declare are shorter.
    private static let maxPreviewedName = 512

    /// The limit of nesting in a packet with attachments, as each level is searched for placeholders.
    private static let maxDepthWithAttachments = 32

    /// Parses the text of an Engine.IO message: kind, attachments, namespace, id, payload.
    public init(parsing text: ArraySlice<UInt8>) throws(ProtocolViolation) {
        try self.init(parsing: text, dropsAttachments: false)
    }

    /// - Parameter dropsAttachments: true to parse an event with attachments only as far as its name, as it will be
    ///   refused. The name is empty if the array does not begin with a short string. Its arguments are neither read nor
    ///   checked.
    init(parsing text: ArraySlice<UInt8>, dropsAttachments: Bool) throws(ProtocolViolation) {
        var rest = text
        try self.init(takingHeadOf: &rest)
        if dropsAttachments, kind == .binaryEvent, attachmentCount > 0 {
            eventName = Self.leadingString(of: rest) ?? ""
        } else if !rest.isEmpty {
            try parsePayload(rest)
        }
        try checkShape()
    }

    /// Parses a packet as far as the name of its event. Its arguments are neither read nor checked, so their
    /// length does not matter.
    ///
    /// - Returns: nil if the text is not a packet. The name is empty if the array does not begin with a short
    ///   string.
    init?(previewing text: ArraySlice<UInt8>) {
        var rest = text
        do throws(ProtocolViolation) { try self.init(takingHeadOf: &rest) } catch { return nil }
        if kind == .event { eventName = Self.leadingString(of: rest) ?? "" }
    }

    /// Returns the first element of an array, if it is a string of up to `maxPreviewedName` bytes.
    private static func leadingString(of array: ArraySlice<UInt8>) -> String? {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let array = array.drop(while: isSpace)
        guard array.first == UInt8(ascii: "[") else { return nil }
        let text = array.dropFirst().drop(while: isSpace).prefix(maxPreviewedName)
        guard text.first == UInt8(ascii: "\"") else { return nil }
        var end = text.startIndex + 1
        while end < text.endIndex, text[end] != UInt8(ascii: "\"") {
            end += text[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        guard end < text.endIndex else { return nil }
        do throws(JSONError) { return try JSONValue(parsing: text[...end]).string } catch { return nil }
    }

    /// Parses kind, attachments, namespace and id, and removes them from `rest`.
    private init(takingHeadOf rest: inout ArraySlice<UInt8>) throws(ProtocolViolation) {
        guard let kind = rest.popFirst().flatMap(Kind.init) else { throw ProtocolViolation("an unknown packet type") }
        self.kind = kind
        if kind == .binaryEvent || kind == .binaryAck {
            guard let count = try Self.number(from: &rest), rest.popFirst() == UInt8(ascii: "-") else {
                throw ProtocolViolation("a binary packet without its number of attachments")
            }
            attachmentCount = count
        }
        if rest.first == UInt8(ascii: "/") {
            let comma = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
            let name = rest[..<comma].prefix { $0 != UInt8(ascii: "?") }
            guard name.count <= Self.maxNamespaceBytes else { throw ProtocolViolation("a namespace that is too long") }
            namespace = String(decoding: name, as: UTF8.self)
            rest = rest[comma...].dropFirst()
        }
        id = try Self.number(from: &rest)
    }

    private static func number(from rest: inout ArraySlice<UInt8>) throws(ProtocolViolation) -> Int? {
        let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        if digits.isEmpty { return nil }
        guard digits.count <= maxDigits else { throw ProtocolViolation("a number of too many digits") }
        rest = rest.dropFirst(digits.count)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private mutating func parsePayload(_ text: ArraySlice<UInt8>) throws(ProtocolViolation) {
        let value: JSONValue
        do throws(JSONError) {
            let maxDepth = attachmentCount > 0 ? Self.maxDepthWithAttachments : JSONValue.defaultMaxDepth
            value = try JSONValue(parsing: text, maxDepth: maxDepth)
        } catch {
            // Deep nesting, and refused texts and numbers, are errors of the application's request, not of the packet. So the
            // sender gets an answer.
            guard let refusal = SocketIORefusal(error.cause), kind == .event || kind == .binaryEvent else {
                throw ProtocolViolation("a payload that is not JSON")
            }
            (eventName, self.refusal) = (Self.leadingString(of: text), refusal)
            return
        }
        payload = value
        guard let values = value.array else { return }
        switch kind {
        case .event, .binaryEvent:
            guard let first = values.first else { return }
            eventName = first.string ?? (first.kind == .number ? first.text : nil)
            arguments = Array(values.dropFirst())
        default:
            arguments = values
        }
    }

    /// Checks that the packet has the parts that its kind requires, and no others.
    private func checkShape() throws(ProtocolViolation) {
        switch kind {
        case .connect:
            guard id == nil, payload == nil || payload?.kind == .object else {
                throw ProtocolViolation("a CONNECT whose payload is not an object")
            }
        case .disconnect:
            guard id == nil, payload == nil else { throw ProtocolViolation("a DISCONNECT with a payload") }
        case .connectError:
            guard id == nil, payload?.kind == .object || payload?.kind == .string else {
                throw ProtocolViolation("a CONNECT_ERROR without its payload")
            }
        case .event, .binaryEvent:
            guard let eventName else { throw ProtocolViolation("an event without a name") }
            guard !Self.reservedNames.contains(eventName) else { throw ProtocolViolation("a reserved event name") }
        case .ack, .binaryAck:
            guard id != nil, payload?.kind == .array else { throw ProtocolViolation("an ACK without id or arguments") }
        }
    }
}

extension SocketIORefusal {
    fileprivate init?(_ cause: JSONError.Cause) {
        switch cause {
        case .syntax: return nil
        case .depth: self = .depth
        case .text: self = .text
        case .number: self = .number
        }
    }
}
