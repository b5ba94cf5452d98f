import ParlorSecurity

/// A packet of Engine.IO 4 that was received.
public struct EnginePacket: Sendable, Equatable {
    public enum Kind: UInt8, Sendable {
        case open = 0x30
        case close, ping, pong, message, upgrade, noop
    }

    public let kind: Kind
    /// The bytes after the kind, which are UTF-8 unless `isBinary`.
    public let payload: ArraySlice<UInt8>
    /// True for a binary packet. Only messages can be binary.
    public let isBinary: Bool

    public init(_ kind: Kind, payload: ArraySlice<UInt8> = []) {
        self.kind = kind
        self.payload = payload
        isBinary = false
    }

    /// Creates the message that a binary frame, or a `b` packet in a polling payload, stands for.
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

/// The body of one long-polling request or response, which carries several packets.
public enum PollingPayload {
    /// The limit of packets in one response. The standard Python clients drop any beyond it.
    public static let maxPackets = 16
    /// The limit of packets in one POST: more than a client saves up while it is offline, and more than
    /// applications process at once. A packet may be a single byte, and takes some hundred bytes once it is
    /// parsed.
    public static let maxReceivedPackets = 4096

    private static let separator: UInt8 = 0x1E
    private static let binaryMark = UInt8(ascii: "b")

    /// Parses the body of a POST.
    ///
    /// - Throws: if any packet is malformed, or there are more than `limit`; none of them is used then.
    public static func parse(
        _ body: ArraySlice<UInt8>, atMost limit: Int = maxReceivedPackets
    ) throws(ProtocolViolation) -> [EnginePacket] {
        guard String(validating: body, as: UTF8.self) != nil else {
            throw ProtocolViolation("a payload that is not UTF-8")
        }
        guard body.count(where: { $0 == separator }) < limit else {
            throw ProtocolViolation("a payload of too many packets")
        }
        var packets: [EnginePacket] = []
        for part in body.split(separator: separator, omittingEmptySubsequences: false) {
            guard part.first == binaryMark else {
                packets.append(try EnginePacket(parsing: part))
                continue
            }
            guard let bytes = Base64.decode(part.dropFirst()) else {
                throw ProtocolViolation("a packet that is not base64")
            }
            packets.append(EnginePacket(binary: bytes[...]))
        }
        return packets
    }

    /// Returns the body of a response with these packets, at most `maxPackets`.
    public static func encode(_ packets: some Collection<OutgoingPacket>) -> [UInt8] {
        precondition(packets.count <= maxPackets)
        var body: [UInt8] = []
        body.reserveCapacity(packets.reduce(0) { $0 + $1.bytes.count + 1 })
        for packet in packets {
            if !body.isEmpty { body.append(separator) }
            if packet.isBinary {
                body.append(binaryMark)
                body.append(contentsOf: Base64.encode(Array(packet.payload)).utf8)
            } else {
                body.append(contentsOf: packet.payload)
            }
        }
        return body
    }
}

/// Packets that wait for a client's next GET.
struct PollingQueue: Sendable {
    private var packets: [OutgoingPacket] = []
    /// The approximate memory of the packets.
    private(set) var cost = 0

    var isEmpty: Bool { packets.isEmpty }

    mutating func append(_ packet: OutgoingPacket) {
        packets.append(packet)
        cost += packet.cost
    }

    /// Takes the body of one response, with as many packets as fit.
    ///
    /// - Parameter closing: true if a close packet follows the last one.
    mutating func takeBody(closing: Bool = false) -> [UInt8] {
        var taken = Array(packets.prefix(closing ? PollingPayload.maxPackets - 1 : PollingPayload.maxPackets))
        packets.removeFirst(taken.count)
        cost -= taken.reduce(0) { $0 + $1.cost }
        if closing && packets.isEmpty { taken.append(.close) }
        return PollingPayload.encode(taken)
    }

    mutating func takeAll() -> [OutgoingPacket] {
        defer { self = PollingQueue() }
        return packets
    }
}
