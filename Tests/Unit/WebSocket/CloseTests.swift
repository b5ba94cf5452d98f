import ParlorWebSocket
import Testing

@Suite("Closing (RFC 6455, sections 5.5.1 and 7.4)")
struct CloseTests {
    private func close(_ code: UInt16, _ reason: [UInt8] = []) -> [UInt8] {
        masked(.close, [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + reason)
    }

    @Test("a close may have no code, a code, or a code and a reason")
    func forms() {
        #expect(Outcome(masked(.close, "")).events == [.close(code: nil, reason: "")])
        #expect(Outcome(close(1000)).events == [.close(code: 1000, reason: "")])
        #expect(Outcome(close(4999, bytes("à bientôt"))).events == [.close(code: 4999, reason: "à bientôt")])
    }

    @Test(
        "codes that may be sent are accepted",
        arguments: [1000, 1001, 1002, 1003, 1007, 1008, 1011, 1014, 3000, 3999, 4000, 4999] as [UInt16])
    func goodCodes(code: UInt16) {
        #expect(Outcome(close(code)).events == [.close(code: code, reason: "")])
    }

    @Test(
        "codes that may not be sent are refused",
        arguments: [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] as [UInt16])
    func badCodes(code: UInt16) {
        #expect(Outcome(close(code)).error?.closeCode == 1002)
    }

    @Test("half a code is refused, and so is a reason that is not UTF-8")
    func malformed() {
        #expect(Outcome(masked(.close, [3])).error?.closeCode == 1002)
        #expect(Outcome(close(1000, [0xC3])).error?.closeCode == 1007)
    }

    @Test("nothing follows a close, not even an error")
    func nothingAfter() throws {
        #expect(Outcome(close(1000), masked(.text, "late"), [0xFF, 0xFF]).events.count == 1)
        var parser = WebSocketParser(role: .server)
        parser.append(close(1000))
        #expect(try parser.next() != nil)
        parser.append([0xFF, 0xFF])
        #expect(try parser.next() == nil)
        #expect(parser.bufferedBytes == 0)
    }

    @Test("a written close reads back, its reason cut at a character to fit")
    func written() {
        func read(_ frame: [UInt8]) -> [WebSocketEvent] { Outcome(feeding: [frame[...]], role: .client).events }
        #expect(read(WebSocketFrame.close(nil)) == [.close(code: nil, reason: "")])
        #expect(read(WebSocketFrame.close(1001, reason: "bye")) == [.close(code: 1001, reason: "bye")])
        let long = String(repeating: "é", count: 100)
        let shortened = String(repeating: "é", count: 61)
        #expect(read(WebSocketFrame.close(1000, reason: long)) == [.close(code: 1000, reason: shortened)])
        #expect(Outcome(WebSocketFrame.close(1000, mask: 1)).events == [.close(code: 1000, reason: "")])
    }
}
