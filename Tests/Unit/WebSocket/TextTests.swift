import ParlorWebSocket
import Testing

@Suite("Text is UTF-8 (RFC 6455, section 8.1; RFC 3629)")
struct TextTests {
    @Test(
        "every valid text is accepted, in one frame or with a frame for each byte",
        arguments: [
            "", "ascii and more than eight bytes of it", "é", "\u{80}\u{7FF}", "\u{800}\u{D7FF}\u{E000}\u{FFFF}",
            "\u{10000}\u{10FFFF}", "κόσμε", "a🎉b🎉c", "12345678é", "\u{0}\u{FFFD}\u{FFFE}",
        ])
    func valid(text: String) {
        let payload = bytes(text)
        #expect(Outcome(masked(.text, payload)).events == [.text(payload)])
        var frames = [masked(.text, "", isFinal: false)]
        frames += payload.map { masked(.continuation, [$0], isFinal: false) } + [masked(.continuation, "")]
        let outcome = Outcome(feeding: frames.map { $0[...] }, maxSmallFragments: 100)
        #expect(outcome.events == [.text(payload)])
    }

    @Test(
        "invalid text fails with 1007 at its first wrong byte, before the frame or the message ends",
        arguments: [
            [0x80], [0xBF], [0xC0], [0xC1], [0xF5], [0xFF], [0xC2, 0x41], [0xC2, 0xC2], [0xE0, 0x9F], [0xED, 0xA0],
            [0xE1, 0x80, 0x41], [0xF0, 0x8F], [0xF4, 0x90], [0xF1, 0x80, 0x80, 0xC0],
        ] as [[UInt8]])
    func invalid(sequence: [UInt8]) {
        let payload = bytes("long enough, é") + sequence
        let header = masked(.text, [UInt8](repeating: 0, count: 100), isFinal: false).prefix(6)
        let frame = header + masked(.text, payload).dropFirst(6)
        #expect(Outcome(Array(frame.dropLast())).error == nil)
        #expect(Outcome(Array(frame)).error?.closeCode == 1007)
        let fragments = payload.map { masked(.continuation, [$0], isFinal: false)[...] }
        let start = [masked(.text, "", isFinal: false)[...]]
        #expect(Outcome(feeding: start + fragments.dropLast(), maxSmallFragments: 100).error == nil)
        #expect(Outcome(feeding: start + fragments, maxSmallFragments: 100).error?.closeCode == 1007)
    }

    @Test("a message that ends inside a character fails, one that goes on does not")
    func incomplete() {
        for part: [UInt8] in [[0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x8E]] {
            #expect(Outcome(masked(.text, part)).error?.closeCode == 1007)
            #expect(Outcome(masked(.text, part, isFinal: false), masked(.continuation, "")).error?.closeCode == 1007)
            #expect(Outcome(masked(.text, part, isFinal: false)).error == nil)
        }
    }

    @Test("the check restarts with each message, and ignores control frames and binary ones")
    func otherPayloads() {
        let half: [UInt8] = [0xC3]
        let outcome = Outcome(
            masked(.text, half, isFinal: false), masked(.ping, [0xFF]), masked(.continuation, [0xA9]),
            masked(.binary, [0xFF]), masked(.text, "a"))
        #expect(outcome.events == [.ping([0xFF]), .text(bytes("é")), .binary([0xFF]), .text(bytes("a"))])
    }

    @Test("every two bytes are judged as by the standard library")
    func againstTheStandardLibrary() {
        for first: UInt8 in 0x70...0xFF {
            for second: UInt8 in stride(from: 0x30, through: 0xFF, by: 5) {
                let payload = [first, second, 0x80]
                let isValid = String(validating: payload, as: UTF8.self) != nil
                #expect((Outcome(masked(.text, payload)).error == nil) == isValid, "\(payload)")
            }
        }
    }
}
