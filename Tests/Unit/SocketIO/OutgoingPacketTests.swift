import ParlorJSON
import Testing

@testable import ParlorSocketIO

@Suite("Outgoing packets")
struct OutgoingPacketTests {
    @Test(
        "the bytes are one frame, and from the offset on the packet",
        arguments: [0, 1, 125, 126, 127, 0xFFFF, 0x10000, 70_000])
    func frames(length: Int) {
        let payload = [UInt8](repeating: 0x34, count: length)
        for (packet, first) in [(OutgoingPacket(text: payload), UInt8(0x81)), (OutgoingPacket(binary: payload), 0x82)] {
            #expect(Array(packet.payload) == payload)
            let header = Array(packet.bytes[..<packet.payloadOffset])
            #expect(header[0] == first)
            switch length {
            case ..<126: #expect(header.dropFirst() == [UInt8(length)])
            case ..<0x10000: #expect(header.dropFirst() == [126, UInt8(length >> 8), UInt8(length & 0xFF)])
            default:
                #expect(
                    header.dropFirst() == [
                        127, 0, 0, 0, 0, 0, UInt8(length >> 16), UInt8(length >> 8 & 0xFF), UInt8(length & 0xFF),
                    ])
            }
        }
    }

    @Test(
        "an ack that is written in place has the bytes of one made of its value", arguments: [0, 100, 65_500, 70_000])
    func acks(length: Int) {
        let text = String(repeating: "a", count: length)
        let written = OutgoingPacket.ack(12, reservingCapacity: 16) { $0.member("text", text) }
        #expect(written == .ack(12, [JSONWriter.object { $0.member("text", text) }]))
    }
}
