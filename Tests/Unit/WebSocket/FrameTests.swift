import ParlorWebSocket
import Testing

@Suite("Frames (RFC 6455, section 5)")
struct FrameTests {
    @Test("the examples of section 5.7")
    func examples() {
        let masked: [UInt8] = [0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D, 0x7F, 0x9F, 0x4D, 0x51, 0x58]
        #expect(WebSocketFrame.encode(.text, bytes("Hello"), mask: 0x37FA_213D) == masked)
        #expect(Outcome(masked).events == [.text(bytes("Hello"))])
        let plain: [UInt8] = [0x81, 0x05, 0x48, 0x65, 0x6C, 0x6C, 0x6F]
        #expect(WebSocketFrame.encode(.text, bytes("Hello")) == plain)
        #expect(Outcome(feeding: [plain[...]], role: .client).events == [.text(bytes("Hello"))])
        #expect(WebSocketFrame.encode(.ping, bytes("Hello")).prefix(2) == [0x89, 0x05])
        #expect(WebSocketFrame.encode(.text, bytes("Hel"), isFinal: false).first == 0x01)
        #expect(WebSocketFrame.encode(.continuation, bytes("lo")).first == 0x80)
    }

    @Test(
        "every length is written in its shortest form and read back",
        arguments: [
            (0, 2), (1, 2), (7, 2), (8, 2), (125, 2), (126, 4), (127, 4), (65_535, 4), (65_536, 10), (70_001, 10),
        ])
    func lengths(count: Int, headerBytes: Int) {
        let payload = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let frame = WebSocketFrame.encode(.binary, payload)
        #expect(frame.count == headerBytes + count)
        #expect(Outcome(feeding: [frame[...]], role: .client).events == [.binary(payload)])
        #expect(Outcome(masked(.binary, payload)).events == [.binary(payload)])
    }

    @Test("a header alone is the start of the frame")
    func headerAlone() {
        var header: [UInt8] = [1]
        WebSocketFrame.appendHeader(.text, payloadLength: 300, to: &header)
        #expect(header == [1, 0x81, 126, 1, 44])
    }

    @Test("masking turns with the payload, wherever it is cut")
    func maskOffsets() {
        let payload = (0..<61).map { UInt8($0) }
        let frame = masked(.binary, payload)
        for first in 0...20 {
            for second in 0...20 {
                let cuts = [frame[..<(6 + first)], frame[(6 + first)..<(6 + first + second)]]
                let outcome = Outcome(feeding: cuts + [frame[(6 + first + second)...]])
                #expect(outcome.events == [.binary(payload)])
            }
        }
    }

    @Test("a server takes masked frames only, a client unmasked ones (section 5.1)")
    func masks() {
        #expect(Outcome(WebSocketFrame.encode(.text, [])).error?.closeCode == 1002)
        #expect(Outcome(feeding: [masked(.text, "")[...]], role: .client).error?.closeCode == 1002)
    }

    @Test("a reserved bit is refused (section 5.2)", arguments: [0x40, 0x20, 0x10, 0x70] as [UInt8])
    func reservedBits(bits: UInt8) {
        #expect(Outcome([0x81 | bits, 0x80, 0, 0, 0, 0]).error?.closeCode == 1002)
    }

    @Test("a reserved opcode is refused", arguments: [3, 4, 5, 6, 7, 0xB, 0xC, 0xD, 0xE, 0xF] as [UInt8])
    func reservedOpcodes(opcode: UInt8) {
        #expect(Outcome([0x80 | opcode, 0x80, 0, 0, 0, 0]).error?.closeCode == 1002)
    }

    @Test(
        "a length that is not in its shortest form, or has its highest bit set, is refused",
        arguments: [
            [126, 0, 125], [126, 0, 0], [127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], [127, 0, 0, 0, 0, 0, 0, 0, 1],
            [127, 0x80, 0, 0, 0, 0, 0, 0, 0], [127, 255, 255, 255, 255, 255, 255, 255, 255],
        ] as [[UInt8]])
    func badLengths(length: [UInt8]) {
        let frame = [0x82, length[0] | 0x80] + length.dropFirst() + [0, 0, 0, 0]
        #expect(Outcome(frame).error?.closeCode == 1002)
    }

    @Test("a control frame that is fragmented or longer than 125 bytes is refused (section 5.5)")
    func controlFrames() {
        for opcode: UInt8 in [8, 9, 10] {
            #expect(Outcome([opcode, 0x80, 0, 0, 0, 0]).error?.closeCode == 1002)
            #expect(Outcome([0x80 | opcode, 0xFE, 0, 126]).error?.closeCode == 1002)
        }
        let longest = [UInt8](repeating: 7, count: 125)
        #expect(Outcome(masked(.ping, longest)).events == [.ping(longest)])
    }
}
