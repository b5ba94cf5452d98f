import Testing

@testable import ParlorMessageBus

@Suite("parsing NATS operations")
struct NATSParserTests {
    /// Returns the operations as text, and in the end the reason if the bytes are invalid.
    private func parse(_ text: String, pieces size: Int) -> [String] {
        var parser = NATSParser()
        var found: [String] = []
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let piece = Array(rest.prefix(size))
            rest = rest.dropFirst(size)
            let failure: BusReadError? = piece.withUnsafeBytes { bytes in
                do throws(BusReadError) {
                    try parser.parse(bytes) { found.append(Self.text($0)) }
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { return found + ["! \(failure.reason)"] }
        }
        return found
    }

    private static func text(_ operation: NATSOperation) -> String {
        switch operation {
        case .info(let bytes): "info \(String(decoding: bytes, as: UTF8.self))"
        case .message(let head, let headers, let payload):
            "\(head.subject) \(head.subscription) \(head.reply ?? "-") "
                + "\(String(decoding: headers, as: UTF8.self).debugDescription) \(String(decoding: payload, as: UTF8.self))"
        case .ping: "ping"
        case .pong: "pong"
        case .ok: "ok"
        case .error(let text): "error \(text)"
        }
    }

    @Test("operations are the same however the bytes are cut", arguments: [1, 2, 3, 7, 1000])
    func pieces(size: Int) {
        let written =
            "INFO {\"max_payload\":10} \r\nPING\r\nPONG\n+OK\r\n-ERR 'Slow Consumer'\r\nMSG a.b 7 4\r\na\r\nb\r\n"
            + "MSG a.b 7 in.box.1 0\r\n\r\nHMSG  in.box.1\t0 16 16\r\nNATS/1.0 503\r\n\r\n\r\n"
            + "HMSG a 1 r 12 17\r\nNATS/1.0\r\n\r\nhello\r\nPING\r\n"
        let expected = [
            "info {\"max_payload\":10} ", "ping", "pong", "ok", "error Slow Consumer", "a.b 7 - \"\" a\r\nb",
            "a.b 7 in.box.1 \"\" ", "in.box.1 0 - \"NATS/1.0 503\\r\\n\\r\\n\" ",
            "a 1 r \"NATS/1.0\\r\\n\\r\\n\" hello", "ping",
        ]
        #expect(parse(written, pieces: size) == expected)
    }

    @Test(
        "an invalid operation ends the parsing",
        arguments: [
            "\r\n", "HTTP/1.1 400 Bad Request\r\n", "msg a 1 0\r\n", "MSG\r\n", "MSG a 1\r\n", "MSG a 1 x\r\n",
            "MSG a 1 -1\r\n", "MSG a b 1\r\n", "MSG a 1 r 2 3\r\n", "MSG a 1 99999999\r\n",
            "MSG a 1 9999999999999999999999\r\n", "HMSG a 1 5\r\n", "HMSG a 1 5 4\r\n", "HMSG a 1 r x 4\r\n",
            "MSG a 1 1\r\nxyz", "PINGPONG\r\n", "\u{0}\u{0}\r\n",
        ])
    func garbage(text: String) {
        for size in [1, 1000] { #expect(parse("PING\r\n\(text)", pieces: size).last?.hasPrefix("! ") == true) }
    }

    @Test("a line without an end is not kept for ever")
    func endlessLine() {
        let found = parse(String(repeating: "x", count: NATSParser.maxLine), pieces: 1000)
        #expect(found == ["! a line over 65536 bytes"])
    }

    @Test("random bytes do not crash the parser, wherever they begin")
    func fuzz() {
        var random = SystemRandomNumberGenerator()
        let written = Array(
            "INFO {}\r\nMSG a.b 7 in.box 4\r\nabcd\r\nHMSG a 1 r 12 17\r\nNATS/1.0\r\n\r\nhello\r\n".utf8)
        for _ in 0..<2000 {
            var bytes = written
            for _ in 0..<3 { bytes[Int.random(in: 0..<bytes.count, using: &random)] = random.next() }
            var reader = NATSReader(
                NATSSession(name: "t", nil, NATSSubjects(prefix: "parlor", inboxName: "x")))
            bytes.withUnsafeBytes { bytes in
                do throws(BusReadError) { try reader.read(bytes) { _ in } } catch {}
            }
        }
    }
}
