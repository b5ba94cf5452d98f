import ParlorTestSupport
import ParlorWebSocket
import Testing

@Suite("However the bytes are cut")
struct SplitTests {
    static let streams: [[UInt8]] = [
        masked(.text, "hello") + masked(.binary, [1, 2, 3]) + masked(.ping, "p") + masked(.close, [3, 232]),
        masked(.text, "é", isFinal: false) + masked(.pong, "x") + masked(.continuation, "🎉 and more text")
            + masked(.text, ""),
        masked(.binary, [UInt8](repeating: 9, count: 200)) + masked(.text, "after"),
        masked(.text, [0x61, 0xE2, 0x82]) + masked(.text, "late"),
        masked(.text, "good") + masked(.text, [0x61, 0xF4, 0x90, 0x80, 0x80]),
        masked(.text, "good") + [0x81, 0x05, 0x48],
        masked(.continuation, "x"),
        masked(.text, "x", isFinal: false) + masked(.text, "y"),
        masked(.binary, [UInt8](repeating: 9, count: 250)) + masked(.binary, [UInt8](repeating: 9, count: 251)),
        masked(.close, [3, 236]),
        masked(.close, "") + masked(.text, "late"),
        [0x82, 0xFE, 0, 125, 0, 0, 0, 0],
    ]

    private static let maxMessageBytes = 250

    private func outcome(_ pieces: [ArraySlice<UInt8>], role: WebSocketParser.Role = .server) -> Outcome {
        Outcome(feeding: pieces, role: role, maxMessageBytes: Self.maxMessageBytes)
    }

    @Test("the events and the error are the same for bytes cut anywhere, or one at a time", arguments: streams)
    func everySplit(bytes: [UInt8]) {
        let whole = outcome([bytes[...]])
        #expect(!whole.events.isEmpty || whole.error != nil)
        #expect(outcome(bytes.indices.map { bytes[$0...$0] }) == whole)
        for cut in bytes.indices {
            #expect(outcome([bytes[..<cut], bytes[cut...]]) == whole, "cut at \(cut)")
        }
    }

    @Test("arbitrary bytes never crash the parser, and give the same result however they are cut", arguments: 1...8)
    func fuzz(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for round in 0..<400 {
            var bytes = try #require(Self.streams.randomElement(using: &random))
            if round % 4 == 0 { bytes = (0..<40).map { _ in .random(in: 0...255, using: &random) } }
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                let at = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = .random(in: 0...255, using: &random)
                case 1: bytes[at] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                default: bytes.remove(at: at)
                }
            }
            let role: WebSocketParser.Role = round % 5 == 0 ? .client : .server
            let whole = outcome([bytes[...]], role: role)
            var pieces: [ArraySlice<UInt8>] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Int.random(in: 1...9, using: &random)
                pieces.append(rest.prefix(count))
                rest = rest.dropFirst(count)
            }
            #expect(outcome(pieces, role: role) == whole, "\(bytes)")
        }
    }
}
