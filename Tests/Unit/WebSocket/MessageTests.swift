import ParlorWebSocket
import Testing

@Suite("Messages (RFC 6455, sections 5.4 and 5.6)")
struct MessageTests {
    @Test("fragments make one message, and control frames may come between them")
    func fragments() {
        let outcome = Outcome(
            masked(.text, "a", isFinal: false), masked(.ping, "p"), masked(.continuation, "", isFinal: false),
            masked(.pong, ""), masked(.continuation, "b"), masked(.binary, "c"))
        #expect(outcome.events == [.ping(bytes("p")), .pong([]), .text(bytes("ab")), .binary(bytes("c"))])
    }

    @Test("an empty message is a message")
    func empty() {
        #expect(Outcome(masked(.text, ""), masked(.binary, "")).events == [.text([]), .binary([])])
    }

    @Test("a continuation without a message, or a new message inside another, is refused")
    func order() {
        #expect(Outcome(masked(.continuation, "a")).error?.closeCode == 1002)
        #expect(Outcome(masked(.text, "a"), masked(.continuation, "b")).error?.closeCode == 1002)
        #expect(Outcome(masked(.text, "a", isFinal: false), masked(.text, "b")).error?.closeCode == 1002)
        #expect(Outcome(masked(.binary, "a", isFinal: false), masked(.text, "b")).error?.closeCode == 1002)
    }

    @Test("a message over the limit fails with 1009 as soon as a header says so")
    func tooLarge() {
        let whole = [UInt8](repeating: 1, count: 10)
        #expect(Outcome(feeding: [masked(.binary, whole)[...]], maxMessageBytes: 10).events == [.binary(whole)])
        let header = masked(.binary, whole + [1]).prefix(6)
        #expect(Outcome(feeding: [header], maxMessageBytes: 10).error?.closeCode == 1009)
        let fragments = masked(.binary, whole, isFinal: false) + masked(.continuation, [1]).prefix(6)
        #expect(Outcome(feeding: [fragments[...]], maxMessageBytes: 10).error?.closeCode == 1009)
        let most: [UInt8] = [0x82, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]
        #expect(Outcome(most).error?.closeCode == 1009)
    }

    @Test("a message of more small fragments than the limit fails with 1009, even if they are empty")
    func tooManyFragments() {
        let part = masked(.continuation, "", isFinal: false)
        let start = masked(.text, "", isFinal: false) + [[UInt8]](repeating: part, count: 6).joined()
        #expect(Outcome(start, masked(.continuation, "x")).events == [.text(bytes("x"))])
        #expect(Outcome(start, part, masked(.continuation, "x")).error?.closeCode == 1009)
        #expect(
            Outcome(start, masked(.continuation, ""), start, masked(.continuation, "")).events.count == 2,
            "each message is counted for itself")
    }

    @Test("fragments of 16 bytes and more are bounded by the message's bytes alone")
    func largeFragments() {
        let payload = [UInt8](repeating: 7, count: WebSocketParser.smallFragmentBytes)
        let part = masked(.continuation, payload, isFinal: false)
        let start = masked(.binary, payload, isFinal: false) + [[UInt8]](repeating: part, count: 100).joined()
        let message = [UInt8](repeating: 7, count: 101 * payload.count)
        #expect(Outcome(start, masked(.continuation, "")).events == [.binary(message)])
        let small = masked(.continuation, Array(payload.dropLast()), isFinal: false)
        let eight = [[UInt8]](repeating: small, count: 8)
        #expect(Outcome(start, Array(eight.joined())).error == nil)
        #expect(Outcome(start, Array(eight.joined()), small).error?.closeCode == 1009)
    }

    @Test("16 MiB in 65,536 fragments and an empty one are put together")
    func manyFragments() throws {
        let size = 256
        let count = 65_536
        var parser = WebSocketParser(role: .client, maxMessageBytes: size * count)
        let payload = (0..<size).map { UInt8($0) }
        for index in 0..<count {
            let opcode = index == 0 ? WebSocketOpcode.binary : .continuation
            parser.append(WebSocketFrame.encode(opcode, payload, isFinal: false))
            guard try parser.next() == nil else {
                Issue.record("an event before the last fragment")
                return
            }
        }
        parser.append(WebSocketFrame.encode(.continuation, [], isFinal: true))
        guard case .binary(let message) = try parser.next() else {
            Issue.record("no message")
            return
        }
        #expect(message.count == size * count)
        #expect(message.suffix(size) == payload[...])
        #expect(parser.bufferedBytes == 0)
    }

    @Test("between messages nothing is held")
    func holdsNothing() throws {
        var parser = WebSocketParser(role: .server)
        parser.append(masked(.text, "hello"))
        #expect(parser.bufferedBytes > 0)
        #expect(try parser.next() != nil)
        #expect(parser.bufferedBytes == 0)
    }

    @Test("an error stays, and input after it is dropped")
    func errorStays() {
        var parser = WebSocketParser(role: .server)
        parser.append(masked(.text, "served") + [0xFF])
        #expect(throws: Never.self) { try parser.next() }
        parser.append([0xFF])
        for _ in 0..<3 {
            #expect(throws: WebSocketError.self) { try parser.next() }
            parser.append(masked(.text, "late"))
            #expect(parser.bufferedBytes == 0)
        }
    }
}
