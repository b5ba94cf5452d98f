import ParlorHTTP
import ParlorTestSupport
import Testing

@Suite("However the bytes are cut")
struct SplitTests {
    /// Small limits, so that short texts reach them.
    private static let limits: HTTPLimits = {
        var limits = HTTPLimits()
        limits.maxRequestLineBytes = 40
        limits.maxHeadBytes = 160
        limits.maxHeaders = 6
        limits.maxBodyBytes = 16
        limits.maxDrainBytes = 48
        limits.maxChunkLineBytes = 12
        limits.maxChunkExtensionBytes = 20
        return limits
    }()

    static let texts: [String] = [
        get("/a?b=c", "X: y") + get("/second"),
        "\r\n" + post("Content-Length: 5", body: "hello") + "\r\n" + get(),
        post("Transfer-Encoding: chunked", body: "5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\nT: u\r\n\r\n") + get(),
        post("Expect: 100-continue", "Content-Length: 5", body: "hello") + get(),
        post("Content-Length: 30", body: String(repeating: "x", count: 30)) + get(),
        post("Content-Length: 90", body: String(repeating: "x", count: 90)),
        post("Transfer-Encoding: chunked", body: "10\r\n0123456789abcdef\r\n8\r\n01234567\r\n0\r\n\r\n") + get(),
        post("Transfer-Encoding: chunked", body: String(repeating: "8\r\n01234567\r\n", count: 8)),
        get() + "GET / HTTP/1.1\nHost: a\r\n\r\n",
        get("/" + String(repeating: "a", count: 60)),
        get("/", "X: " + String(repeating: "a", count: 200)),
        get("/", "A:1", "B:2", "C:3", "D:4", "E:5", "F:6"),
        post("Transfer-Encoding: chunked", body: "5\r\nhelloo\r\n0\r\n\r\n"),
        post("Transfer-Encoding: chunked", body: "1;xxxxxxxxx\r\na\r\n1;xxxxxxxx\r\nb\r\n1;xxxxxxxx\r\n"),
        post("Content-Length: 5", "Content-Length: 5", body: "hello"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "\r\n\r\n" + get(),
    ]

    @Test("the events and the error are the same for bytes cut anywhere, or one at a time", arguments: texts)
    func everySplit(text: String) {
        let bytes = Array(text.utf8)
        let whole = Outcome(bytes, limits: Self.limits)
        #expect(!whole.events.isEmpty || whole.error != nil)
        #expect(Outcome(feeding: bytes.indices.map { bytes[$0...$0] }, limits: Self.limits) == whole)
        for cut in bytes.indices {
            #expect(Outcome(feeding: [bytes[..<cut], bytes[cut...]], limits: Self.limits) == whole, "cut at \(cut)")
        }
    }

    @Test("arbitrary bytes never crash the parser, and give the same result however they are cut", arguments: 1...8)
    func fuzz(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<250 {
            var bytes = Array(try #require(Self.texts.randomElement(using: &random)).utf8)
            for _ in 0..<Int.random(in: 0...4, using: &random) { Self.mutate(&bytes, &random) }
            let whole = Outcome(bytes, limits: Self.limits)
            let pieces = Self.cut(bytes, &random)
            #expect(Outcome(feeding: pieces, limits: Self.limits) == whole, "\(bytes)")
            for request in whole.requests {
                _ = request.pathSegments
                _ = request.queryItems
            }
        }
    }

    private static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        let at = Int.random(in: 0...bytes.count, using: &random)
        let interesting: [UInt8] = [0, 9, 10, 13, 32, 58, 59, 48, 49, 102, 127, 128, 255]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes.insert(interesting.randomElement(using: &random) ?? 0, at: at)
        case 1: bytes.insert(.random(in: 0...255, using: &random), at: at)
        case 2: bytes.removeSubrange(at..<min(at + 3, bytes.count))
        case 3: bytes.insert(contentsOf: bytes[at..<min(at + 20, bytes.count)], at: at)
        default: if at < bytes.count { bytes[at] = .random(in: 0...255, using: &random) }
        }
    }

    private static func cut(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [ArraySlice<UInt8>] {
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = Int.random(in: 1...30, using: &random)
            pieces.append(rest.prefix(count))
            rest = rest.dropFirst(count)
        }
        return pieces
    }
}
