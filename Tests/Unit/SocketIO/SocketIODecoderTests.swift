import Testing

@testable import ParlorSocketIO

@Suite("Attachments")
struct SocketIODecoderTests {
    private func decoder(keeps: Bool = true) -> SocketIODecoder {
        SocketIODecoder(maxAttachments: 3, maxBytes: 10, keepsAttachments: keeps)
    }

    @Test("a packet is complete with its last attachment")
    func gathers() throws {
        var decoder = decoder()
        for _ in 0..<2 {
            #expect(try decoder.decode(EnginePacket(#"52-["e",{"_placeholder":true,"num":1}]"#)) == nil)
            #expect(try decoder.decode(EnginePacket(binary: [1, 2])) == nil)
            let message = try #require(try decoder.decode(EnginePacket(binary: [])))
            #expect(message.eventName == "e" && message.attachments == [[1, 2], []])
            #expect(try decoder.decode(EnginePacket("2[\"next\"]"))?.eventName == "next")
        }
    }

    @Test("a binary packet may come without attachments")
    func none() throws {
        var decoder = decoder()
        #expect(try decoder.decode(EnginePacket("50-[\"e\"]"))?.attachments == [])
    }

    @Test("unwanted attachments are counted, not kept")
    func skips() throws {
        var decoder = decoder(keeps: false)
        #expect(try decoder.decode(EnginePacket("51-[\"e\"]")) == nil)
        #expect(try decoder.decode(EnginePacket(binary: [1, 2]))?.attachments == [])
    }

    @Test("unwanted attachments' placeholders are not searched")
    func looksForNone() throws {
        var decoder = decoder(keeps: false)
        #expect(try decoder.decode(EnginePacket(#"51-["e",{"_placeholder":true,"num":9}]"#)) == nil)
    }

    @Test("an attachment without a packet, or a text where one is due, is refused")
    func unexpectedPacket() throws {
        var idle = decoder()
        #expect(throws: ProtocolViolation.self) { try idle.decode(EnginePacket(binary: [1])) }
        var waiting = decoder()
        _ = try waiting.decode(EnginePacket("51-[\"e\"]"))
        #expect(throws: ProtocolViolation.self) { try waiting.decode(EnginePacket("2[\"f\"]")) }
    }

    @Test("too many attachments, and too long ones, are refused")
    func limits() throws {
        var many = decoder()
        #expect(throws: ProtocolViolation.self) { try many.decode(EnginePacket("54-[\"e\"]")) }
        var long = decoder()
        _ = try long.decode(EnginePacket("52-[\"e\"]"))
        _ = try long.decode(EnginePacket(binary: [1, 2, 3, 4, 5, 6]))
        #expect(throws: ProtocolViolation.self) { try long.decode(EnginePacket(binary: [1, 2, 3, 4, 5])) }
    }

    @Test(
        "a placeholder has to name an attachment",
        arguments: [
            #"{"_placeholder":true,"num":1}"#, #"{"_placeholder":true,"num":-1}"#, #"{"_placeholder":true}"#,
            #"{"_placeholder":true,"num":"0"}"#, #"[{"a":{"_placeholder":true,"num":9}}]"#,
        ])
    func placeholders(argument: String) {
        var decoder = decoder()
        #expect(throws: ProtocolViolation.self) { try decoder.decode(EnginePacket("51-[\"e\",\(argument)]")) }
    }

    @Test("data that resembles a placeholder stays data")
    func noPlaceholders() throws {
        var decoder = decoder()
        let text = #"51-["e",{"_placeholder":false,"num":7},{"num":7},"_placeholder"]"#
        #expect(try decoder.decode(EnginePacket(text)) == nil)
    }
}
