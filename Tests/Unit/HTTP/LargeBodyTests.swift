import ParlorHTTP
import Testing

@Suite("Bodies over the limit, and those that wait for 100 (RFC 9110, section 10.1.1)")
struct LargeBodyTests {
    private var limits: HTTPLimits {
        var limits = HTTPLimits()
        limits.maxBodyBytes = 10
        limits.maxDrainBytes = 40
        return limits
    }

    private func kinds(_ outcome: Outcome) -> [String] {
        outcome.events.map { event in
            switch event {
            case .request(let request): "\(request.method) \(request.body.count)"
            case .continueExpected: "continue"
            case .bodyTooLarge(let request): "too large \(request.method) \(request.body.count)"
            case .drained: "drained"
            case .largeBody(let request): "large \(request.method) \(request.body.count)"
            }
        }
    }

    private func bytes(_ count: Int) -> String { String(repeating: "x", count: count) }

    @Test("a body of exactly the limit is accepted, in both framings")
    func atTheLimit() {
        #expect(kinds(Outcome(post("Content-Length: 10", body: bytes(10)), limits: limits)) == ["POST 10"])
        let chunks = "4\r\nxxxx\r\n6\r\nxxxxxx\r\n0\r\n\r\n"
        #expect(kinds(Outcome(post("Transfer-Encoding: chunked", body: chunks), limits: limits)) == ["POST 10"])
    }

    @Test("a larger one is reported at once, then dropped, and the next request is read")
    func drained() {
        let announced = post("Content-Length: 30", body: bytes(30)) + get()
        #expect(kinds(Outcome(announced, limits: limits)) == ["too large POST 0", "drained", "GET 0"])
        let chunks = "8\r\nxxxxxxxx\r\n8\r\nxxxxxxxx\r\n8\r\nxxxxxxxx\r\n0\r\nX: y\r\n\r\n"
        let chunked = post("Transfer-Encoding: chunked", body: chunks) + get()
        #expect(kinds(Outcome(chunked, limits: limits)) == ["too large POST 0", "drained", "GET 0"])
        #expect(kinds(Outcome(post("Content-Length: 11"), limits: limits)) == ["too large POST 0"])
    }

    @Test("dropped bytes are bounded: beyond the bound the connection ends")
    func drainLimit() {
        let announced = Outcome(post("Content-Length: 50", body: bytes(41)), limits: limits)
        #expect(kinds(announced) == ["too large POST 0"])
        #expect(announced.error?.status == 413)
        let chunks = String(repeating: "8\r\nxxxxxxxx\r\n", count: 6)
        let chunked = Outcome(post("Transfer-Encoding: chunked", body: chunks), limits: limits)
        #expect(kinds(chunked) == ["too large POST 0"])
        #expect(chunked.error?.status == 413)
    }

    @Test("chunk lines count as dropped: a body of tiny chunks ends as soon as one of large ones")
    func drainLimitOfTinyChunks() {
        let chunks = String(repeating: "1\r\nx\r\n", count: 20)
        let outcome = Outcome(post("Transfer-Encoding: chunked", body: chunks), limits: limits)
        #expect(kinds(outcome) == ["too large POST 0"])
        #expect(outcome.error?.status == 413)
    }

    @Test("while a body is dropped, its framing is still checked")
    func badChunkWhileDraining() {
        let chunks = "f\r\nxxxxxxxxxxxxxxx\r\nzz\r\n"
        #expect(Outcome(post("Transfer-Encoding: chunked", body: chunks), limits: limits).error?.status == 400)
    }

    @Test("nothing of a body that is dropped is kept")
    func holdsNothing() throws {
        var parser = HTTPRequestParser()
        parser.append(post("Content-Length: 8000000").utf8)
        guard case .bodyTooLarge = try parser.next() else {
            Issue.record("the body was not refused")
            return
        }
        for _ in 0..<10 {
            parser.append([UInt8](repeating: 0, count: 100_000))
            #expect(try parser.next() == nil)
            #expect(parser.bufferedBytes == 0)
        }
    }

    @Test("a client that expects 100-continue gets it before its request is delivered")
    func expectContinue() {
        #expect(kinds(Outcome(post("Expect: 100-Continue", "Content-Length: 2"))) == ["continue"])
        #expect(
            kinds(Outcome(post("Expect: 100-continue", "Content-Length: 2", body: "ab"))) == ["continue", "POST 2"])
        let chunked = post("Expect: 100-continue", "Transfer-Encoding: chunked", body: "2\r\nab\r\n0\r\n\r\n")
        #expect(kinds(Outcome(chunked)) == ["continue", "POST 2"])
    }

    @Test("a client that expects 100 with nothing to send, or speaks HTTP/1.0, does not get it")
    func noContinue() {
        #expect(kinds(Outcome(post("Expect: 100-continue"))) == ["POST 0"])
        let old = "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab"
        #expect(kinds(Outcome(old)) == ["POST 2"])
    }

    @Test("a body that is too large and waits ends the connection: the client may or may not send it")
    func tooLargeAndWaiting() {
        let outcome = Outcome(post("Expect: 100-continue", "Content-Length: 11"), limits: limits)
        #expect(outcome.events.isEmpty)
        #expect(outcome.error?.status == 413)
    }

    // MARK: Bodies that are asked about

    private var asking: HTTPLimits {
        var limits = HTTPLimits()
        limits.maxUnaskedBodyBytes = 10
        return limits
    }

    @Test("a small body needs no decision; a larger one waits for one before it is kept, in both framings")
    func asks() {
        #expect(kinds(Outcome(post("Content-Length: 10", body: bytes(10)), limits: asking)) == ["POST 10"])
        #expect(kinds(Outcome(post("Content-Length: 11"), limits: asking)) == ["large POST 0"])
        let whole = Outcome(post("Content-Length: 11", body: bytes(11)) + get(), limits: asking)
        #expect(kinds(whole) == ["large POST 0", "POST 11", "GET 0"])
        let chunks = "6\r\nxxxxxx\r\n6\r\nxxxxxx\r\n0\r\n\r\n"
        let chunked = Outcome(post("Transfer-Encoding: chunked", body: chunks) + get(), limits: asking)
        #expect(kinds(chunked) == ["large POST 0", "POST 12", "GET 0"])
    }

    @Test("a declined body is dropped as it arrives, and the next request is read", arguments: [1, 7, 4096])
    func dropsAsked(pieceSize: Int) {
        let chunks = "6\r\nxxxxxx\r\n6\r\nxxxxxx\r\n0\r\n\r\n"
        for request in [
            post("Content-Length: 11", body: bytes(11)), post("Transfer-Encoding: chunked", body: chunks),
        ] {
            let input = Array((request + get()).utf8)
            let pieces = stride(from: 0, to: input.count, by: pieceSize).map {
                input[$0..<min($0 + pieceSize, input.count)]
            }
            let outcome = Outcome(feeding: pieces, limits: asking, takesLargeBodies: false)
            #expect(kinds(outcome) == ["large POST 0", "drained", "GET 0"] && outcome.mayGoOn)
        }
    }

    @Test(
        "a chunked body that grows too large needs a decision first, however its chunks arrive",
        arguments: [1, 7, 4096])
    func asksBeforeTooLarge(pieceSize: Int) {
        var limits = asking
        limits.maxBodyBytes = 20
        let chunk = "1e\r\n\(bytes(30))\r\n0\r\n\r\n"
        let input = Array((post("Transfer-Encoding: chunked", body: chunk) + get()).utf8)
        let pieces = stride(from: 0, to: input.count, by: pieceSize).map {
            input[$0..<min($0 + pieceSize, input.count)]
        }
        #expect(
            kinds(Outcome(feeding: pieces, limits: limits)) == ["large POST 0", "too large POST 0", "drained", "GET 0"])
        let dropped = Outcome(feeding: pieces, limits: limits, takesLargeBodies: false)
        #expect(kinds(dropped) == ["large POST 0", "drained", "GET 0"])
    }

    @Test("a client that expects 100 is asked for a large body once it is accepted; otherwise the connection ends")
    func asksBeforeContinue() {
        let waiting = post("Expect: 100-continue", "Content-Length: 11", body: bytes(11))
        #expect(kinds(Outcome(waiting, limits: asking)) == ["large POST 0", "continue", "POST 11"])
        let dropped = Outcome(feeding: [Array(waiting.utf8)[...]], limits: asking, takesLargeBodies: false)
        #expect(!dropped.mayGoOn)
    }

    @Test("no bytes after the head are used before the decision")
    func waitsForAnswer() throws {
        var parser = HTTPRequestParser(limits: asking)
        parser.append(post("Content-Length: 11", body: bytes(11)).utf8)
        guard case .largeBody = try parser.next() else {
            Issue.record("the body was not asked about")
            return
        }
        #expect(try parser.next() == nil)
        #expect(parser.heldBytes >= 11)
        parser.takeBody()
        guard case .request(let request) = try parser.next() else {
            Issue.record("the request did not follow")
            return
        }
        #expect(request.body.count == 11)
        #expect(parser.heldBytes == 0)
    }

    @Test("a head is held until its request is delivered, and known after that")
    func headIsHeld() throws {
        var parser = HTTPRequestParser()
        let head = post("X: \(String(repeating: "x", count: 20_000))", "Content-Length: 2", body: "")
        parser.append(head.utf8)
        #expect(try parser.next() == nil)
        #expect(parser.heldBytes == head.utf8.count && parser.unfinished?.headers["X"]?.utf8.count == 20_000)
        parser.append("xx".utf8)
        guard case .request = try parser.next() else {
            Issue.record("the request did not follow")
            return
        }
        #expect(parser.heldBytes == 0 && parser.unfinished == nil && parser.lastHeadBytes == head.utf8.count)
    }

    @Test("other expectations are refused")
    func otherExpectation() {
        #expect(Outcome(post("Expect: a miracle", "Content-Length: 2")).error?.status == 417)
    }
}
