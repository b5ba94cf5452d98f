import Testing

@testable import SocketIO

@Suite("Engine.IO packets")
struct EnginePacketTests {
    @Test(
        "a packet is a digit and what follows it",
        arguments: [
            ("0{}", EnginePacket.Kind.open, "{}"), ("1", .close, ""), ("2probe", .ping, "probe"), ("3", .pong, ""),
            ("4héllo", .message, "héllo"), ("5", .upgrade, ""), ("6", .noop, ""),
        ])
    func parses(text: String, kind: EnginePacket.Kind, payload: String) throws {
        let packet = try EnginePacket(parsing: text.bytes)
        #expect(packet.kind == kind && packet.payload.text == payload && !packet.isBinary)
    }

    @Test("what is no packet is refused", arguments: ["", "7", "abc", " 4", "bAQID", "-1"])
    func refuses(text: String) {
        #expect(throws: ProtocolViolation.self) { try EnginePacket(parsing: text.bytes) }
    }
}

@Suite("Polling payloads")
struct PollingPayloadTests {
    @Test("packets are parted by a record separator; a b marks base64")
    func parses() throws {
        let packets = try PollingPayload.parse("4hello\u{1E}2\u{1E}bAQIDBA==\u{1E}4€".bytes)
        #expect(packets.map(\.kind) == [.message, .ping, .message, .message])
        #expect(packets[2].isBinary && Array(packets[2].payload) == [1, 2, 3, 4])
        #expect(packets[3].payload.text == "€")
    }

    @Test(
        "one malformed packet refuses the whole payload",
        arguments: [
            "", "4a\u{1E}", "\u{1E}4a", "4a\u{1E}\u{1E}4b", "4a\u{1E}x", "4a\u{1E}bAQI", "bA QID", "4a\u{1E}b====",
        ])
    func refuses(body: String) {
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse(body.bytes) }
    }

    @Test("a payload that is no UTF-8 is refused")
    func refusesBadText() {
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse([0x34, 0xC0, 0xAF]) }
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse([0x34, 0xED, 0xA0, 0x80]) }
    }

    @Test("what is encoded parses to the same, at every length of base64")
    func roundTrip() throws {
        let binaries = (0...9).map { Array(UInt8(0)..<UInt8($0)) }
        let packets = [OutgoingPacket("4é\n")] + binaries.map(OutgoingPacket.init(binary:)) + [.noop]
        let parsed = try PollingPayload.parse(PollingPayload.encode(packets)[...])
        #expect(parsed.map { Array($0.payload) } == [Array("é\n".utf8)] + binaries + [[]])
        #expect(parsed.map(\.isBinary) == packets.map(\.isBinary))
    }

    @Test("random bytes are parsed or refused, and never anything else")
    func fuzz() {
        var generator = SeededGenerator(seed: 1)
        let alphabet: [UInt8] = [0x1E, 0x34, 0x62, 0x3D, 0x41, 0x2F, 0x36, 0x31, 0xC3, 0xA9, 0xFF]
        for _ in 0..<20_000 {
            let body = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                alphabet.randomElement(using: &generator)!
            }
            guard let packets = try? PollingPayload.parse(body[...]) else { continue }
            #expect(packets.count == body.split(separator: 0x1E, omittingEmptySubsequences: false).count)
        }
    }
}

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
}
