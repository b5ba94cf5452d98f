import ParlorHTTP
import Testing

@Suite("Bodies (RFC 9112, sections 6 and 7)")
struct BodyTests {
    private func body(_ text: String) -> String? {
        Outcome(text).request.map { String(decoding: $0.body, as: UTF8.self) }
    }

    @Test("a body is as long as Content-Length says")
    func length() {
        #expect(body(post("Content-Length: 5", body: "hello")) == "hello")
        #expect(body(post("Content-Length: 005", body: "hello")) == "hello")
        #expect(body(post("Content-Length: 0")) == "")
        #expect(body(post()) == "")
        #expect(Outcome(post("Content-Length: 5", body: "hell")).events.isEmpty)
    }

    @Test(
        "a length that is not one number is refused (section 6.3)",
        arguments: ["", "-1", "+5", "5, 5", "5 5", "0x5", "5.0", "five", "5;x"])
    func badLength(value: String) {
        #expect(Outcome(post("Content-Length: \(value)", body: "hello")).error?.status == 400)
    }

    @Test("two lengths are refused, even if they agree")
    func twoLengths() {
        #expect(Outcome(post("Content-Length: 5", "Content-Length: 5", body: "hello")).error?.status == 400)
    }

    @Test("a length beside a transfer coding is refused, in either order (section 6.1)")
    func lengthAndCoding() {
        let chunks = "0\r\n\r\n"
        #expect(Outcome(post("Content-Length: 5", "Transfer-Encoding: chunked", body: chunks)).error?.status == 400)
        #expect(Outcome(post("Transfer-Encoding: chunked", "Content-Length: 5", body: chunks)).error?.status == 400)
    }

    @Test("a length beyond all integers is a body that is too large")
    func hugeLength() {
        let outcome = Outcome(post("Content-Length: 99999999999999999999999"))
        #expect(outcome.error == nil)
        guard case .bodyTooLarge = outcome.events.first else {
            Issue.record("not refused: \(outcome)")
            return
        }
    }

    @Test("chunks are joined, extensions and trailers dropped (section 7.1)")
    func chunks() {
        let chunks = "5\r\nhello\r\n01;a=b;c=\"d\"\r\n,\r\n6\r\n world\r\n0;last\r\nX-Sum: 1\r\nY: 2\r\n\r\n"
        #expect(body(post("Transfer-Encoding: Chunked", body: chunks)) == "hello, world")
        #expect(body(post("Transfer-Encoding: chunked", body: "A\r\n0123456789\r\n0\r\n\r\n")) == "0123456789")
        #expect(body(post("Transfer-Encoding: chunked", body: "0\r\n\r\n")) == "")
    }

    @Test(
        "chunks that are malformed are refused",
        arguments: [
            "\r\n", "g\r\n", "-1\r\n", "+1\r\n", "0x1\r\na\r\n", " 1\r\na\r\n", "1 \r\na\r\n", "1 ;x\r\na\r\n",
            "1\na\r\n",
            "1\r\na\n", "1\r\nab\r\n", "1\r\na0\r\n\r\n", "ffffffffffffffffffff\r\n", "1000000000000000\r\n",
            "1;\u{1}\r\na\r\n", "0\r\nno colon\r\n\r\n", "0\r\n folded: x\r\n\r\n", "0\r\nA : b\r\n\r\n", "0\r\n\n",
        ])
    func badChunks(chunks: String) {
        let outcome = Outcome(post("Transfer-Encoding: chunked", body: chunks))
        #expect(outcome.events.isEmpty)
        #expect(outcome.error?.status == 400)
    }

    @Test("extensions are bounded, in a line and in a body")
    func extensions() {
        let line = String(repeating: "x", count: 250)
        let coding = "Transfer-Encoding: chunked"
        #expect(Outcome(post(coding, body: "1;\(line)xxxxxx\r\na\r\n")).error?.status == 400)
        let chunks = String(repeating: "1;\(line)\r\na\r\n", count: 70)
        #expect(Outcome(post(coding, body: chunks)).error?.status == 400)
        let fewer = String(repeating: "1;\(line)\r\na\r\n", count: 60) + "0\r\n\r\n"
        #expect(Outcome(post(coding, body: fewer)).request?.body.count == 60)
    }

    @Test("a trailer has the bounds of a head")
    func trailers() {
        let coding = "Transfer-Encoding: chunked"
        let many = String(repeating: "X: y\r\n", count: 101)
        #expect(Outcome(post(coding, body: "0\r\n\(many)\r\n")).error?.status == 431)
        let long = "X: " + String(repeating: "y", count: HTTPLimits().maxHeadBytes)
        #expect(Outcome(post(coding, body: "0\r\n\(long)")).error?.status == 431)
    }

    @Test(
        "a transfer coding other than chunked, once and last, is refused (sections 6.1 and 6.3)",
        arguments: [
            ("gzip, chunked", 501), ("gzip", 400), ("chunked, gzip", 400), ("chunked, chunked", 400), ("identity", 400),
            ("xchunked", 400), ("chunked;q=1", 400), ("chun\u{212A}ed", 400), ("", 400), ("chunked,", 400),
        ])
    func codings(value: String, status: Int) {
        #expect(Outcome(post("Transfer-Encoding: \(value)", body: "0\r\n\r\n")).error?.status == status)
    }

    @Test("two fields of transfer codings count as one list")
    func codingsInTwoFields() {
        let outcome = Outcome(post("Transfer-Encoding: chunked", "Transfer-Encoding: chunked", body: "0\r\n\r\n"))
        #expect(outcome.error?.status == 400)
    }

    @Test("HTTP/1.0 has no transfer codings")
    func codingInHTTP10() {
        let text = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        #expect(Outcome(text).error?.status == 400)
    }
}
