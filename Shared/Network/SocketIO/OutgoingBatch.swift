/// Packets that go to many sockets together: their frames are joined once, so that each socket costs one step, however many
/// there are.
public struct OutgoingBatch: Sendable {
    public let packets: [OutgoingPacket]
    /// The frames of all of them, in order.
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
