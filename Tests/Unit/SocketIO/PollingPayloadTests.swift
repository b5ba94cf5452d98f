import ParlorTestSupport
import Testing

@testable import ParlorSocketIO

@Suite("Polling payloads")
struct PollingPayloadTests {
    @Test("packets are separated by a record separator; a b marks base64")
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

    @Test("a payload with too many packets is refused whole, one with exactly the limit is not")
    func refusesTooMany() throws {
        func body(_ count: Int) -> ArraySlice<UInt8> {
            Array(repeating: "6", count: count).joined(separator: "\u{1E}").bytes
        }
        let most = PollingPayload.maxReceivedPackets
        #expect(try PollingPayload.parse(body(most)).count == most)
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse(body(most + 1)) }
        #expect(try PollingPayload.parse(body(64), atMost: 64).count == 64)
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse(body(65), atMost: 64) }
    }

    @Test("a payload that is not UTF-8 is refused")
    func refusesBadText() {
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse([0x34, 0xC0, 0xAF]) }
        #expect(throws: ProtocolViolation.self) { try PollingPayload.parse([0x34, 0xED, 0xA0, 0x80]) }
    }

    @Test("an encoded payload parses to the same, at every length of base64")
    func roundTrip() throws {
        let binaries = (0...9).map { Array(UInt8(0)..<UInt8($0)) }
        let packets = [OutgoingPacket("4é\n")] + binaries.map(OutgoingPacket.init(binary:)) + [.noop]
        let parsed = try PollingPayload.parse(PollingPayload.encode(packets)[...])
        #expect(parsed.map { Array($0.payload) } == [Array("é\n".utf8)] + binaries + [[]])
        #expect(parsed.map(\.isBinary) == packets.map(\.isBinary))
    }

    @Test("random bytes are parsed or refused, and never crash")
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
