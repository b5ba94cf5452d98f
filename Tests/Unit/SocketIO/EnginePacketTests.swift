import Testing

@testable import ParlorSocketIO

@Suite("Engine.IO packets")
struct EnginePacketTests {
    @Test(
        "a packet is a digit and its data",
        arguments: [
            ("0{}", EnginePacket.Kind.open, "{}"), ("1", .close, ""), ("2probe", .ping, "probe"), ("3", .pong, ""),
            ("4héllo", .message, "héllo"), ("5", .upgrade, ""), ("6", .noop, ""),
        ])
    func parses(text: String, kind: EnginePacket.Kind, payload: String) throws {
        let packet = try EnginePacket(parsing: text.bytes)
        #expect(packet.kind == kind && packet.payload.text == payload && !packet.isBinary)
    }

    @Test("a malformed packet is refused", arguments: ["", "7", "abc", " 4", "bAQID", "-1"])
    func refuses(text: String) {
        #expect(throws: ProtocolViolation.self) { try EnginePacket(parsing: text.bytes) }
    }
}
