/// An Engine.IO packet, encoded once for all sockets that receive it.
///
/// `bytes` is a whole WebSocket frame (RFC 6455, section 5.2; a server's frames are not masked). The bytes from
/// `payloadOffset` on are the packet without the frame's header. Long-polling sends only these, and a binary packet in
/// base64. Copies share the bytes, so an event to ten thousand sockets is encoded and framed once.
public struct OutgoingPacket: Sendable, Equatable {
    public let bytes: [UInt8]
    public let payloadOffset: Int
    public let isBinary: Bool

    public var payload: ArraySlice<UInt8> { bytes[payloadOffset...] }

    /// The approximate memory that it takes in a queue: its bytes, an array's header and the queue's entry.
    var cost: Int { bytes.count + 64 }

    /// Creates a text packet from the kind's digit and the bytes after it.
    public init(text payload: [UInt8]) { self.init(of: payload.count, isBinary: false) { $0 += payload } }

    /// Creates a binary message, which has no kind in a frame.
    public init(binary payload: [UInt8]) { self.init(of: payload.count, isBinary: true) { $0 += payload } }

    public init(_ kind: EnginePacket.Kind, _ payload: some Collection<UInt8> = EmptyCollection<UInt8>()) {
        self.init(text: [kind.rawValue] + payload)
    }

    /// The length of the header before 126 to 65,535 bytes.
    static let usualHeader = 4

    /// Creates a text packet from its bytes after `usualHeader` bytes of any value, which become the frame's header.
    init(textAfterHeader frame: consuming [UInt8]) {
        let length = frame.count - Self.usualHeader
        switch length {
        case ..<126:
            frame.removeFirst(2)
            frame[0] = 0x81
            frame[1] = UInt8(length)
            payloadOffset = 2
        case ...0xFFFF:
            frame[0] = 0x81
            frame[1] = 126
            frame[2] = UInt8(length >> 8)
            frame[3] = UInt8(length & 0xFF)
            payloadOffset = 4
        default:
            self = OutgoingPacket(text: Array(frame[Self.usualHeader...]))
            return
        }
        bytes = frame
        isBinary = false
    }

    /// - Parameter write: must append `length` bytes.
    init(of length: Int, isBinary: Bool, _ write: (inout [UInt8]) -> Void) {
        var frame: [UInt8] = []
        frame.reserveCapacity(length + 10)
        frame.append(isBinary ? 0x82 : 0x81)
        switch length {
        case ..<126: frame.append(UInt8(length))
        case ...0xFFFF:
            frame.append(126)
            frame.append(UInt8(length >> 8))
            frame.append(UInt8(length & 0xFF))
        default: frame += [127] + (0..<8).map { UInt8(truncatingIfNeeded: length >> (56 - 8 * $0)) }
        }
        payloadOffset = frame.count
        write(&frame)
        assert(frame.count == payloadOffset + length, "the frame says how long it is")
        bytes = frame
        self.isBinary = isBinary
    }

    static let ping = OutgoingPacket(.ping)
    static let noop = OutgoingPacket(.noop)
    static let close = OutgoingPacket(.close)
    static let probeAnswer = OutgoingPacket(.pong, EnginePacket.probe)
}

/// Packets for many sockets. Their frames are joined once, so that each socket needs one write, however many
/// packets there are.
public struct OutgoingBatch: Sendable {
    public let packets: [OutgoingPacket]
    /// The frames of all packets, in order.
    public let frames: [UInt8]

    public init(_ packets: [OutgoingPacket]) {
        self.packets = packets
        guard packets.count > 1 else {
            frames = packets.first?.bytes ?? []
            return
        }
        var frames: [UInt8] = []
        frames.reserveCapacity(packets.reduce(0) { $0 + $1.bytes.count })
        for packet in packets { frames += packet.bytes }
        self.frames = frames
    }
}
