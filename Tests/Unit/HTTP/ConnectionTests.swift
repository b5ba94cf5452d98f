import ParlorHTTP
import Testing

@Suite("Requests on one connection")
struct ConnectionTests {
    @Test("pipelined requests are parsed one by one, in order, with their own bodies")
    func pipelining() throws {
        var parser = HTTPRequestParser()
        parser.append((get("/1") + post("Content-Length: 3", body: "two") + get("/3")).utf8)
        guard case .request(let first) = try parser.next(), case .request(let second) = try parser.next(),
            case .request(let third) = try parser.next()
        else {
            Issue.record("not three requests")
            return
        }
        #expect(first.path == "/1")
        #expect(second.body == Array("two".utf8))
        #expect(third.path == "/3")
        #expect(try parser.next() == nil)
    }

    @Test("a request before a malformed one is still served, and the error stays")
    func errorAfterRequest() {
        var parser = HTTPRequestParser()
        parser.append((get() + "nonsense\r\n\r\n" + get()).utf8)
        #expect(throws: Never.self) { try parser.next() }
        for _ in 0..<3 {
            #expect(throws: HTTPParseError.self) { try parser.next() }
            parser.append(get().utf8)
            #expect(parser.bufferedBytes == 0)
        }
    }

    @Test("the parser distinguishes an idle connection from half a head and half a body, for deadlines")
    func progress() throws {
        var parser = HTTPRequestParser()
        #expect(parser.progress == .idle)
        parser.append("POST".utf8)
        #expect(parser.progress == .head)
        parser.append(" / HTTP/1.1\r\n".utf8)
        #expect(try parser.next() == nil)
        #expect(parser.progress == .head)
        parser.append("Host: a\r\nContent-Length: 2\r\n\r\n".utf8)
        #expect(try parser.next() == nil)
        #expect(parser.progress == .body)
        #expect(parser.bufferedBytes == 0)
        parser.append("ab".utf8)
        #expect(try parser.next() != nil)
        #expect(parser.progress == .idle)
        #expect(parser.bufferedBytes == 0)
    }

    @Test("what follows an upgrade belongs to the new protocol, whatever it is")
    func upgrade() throws {
        var parser = HTTPRequestParser()
        parser.append(get("/", "Connection: Upgrade", "Upgrade: websocket").utf8)
        parser.append([0x81, 0x80, 0, 10])
        #expect(try parser.next() != nil)
        #expect(parser.takeRemaining() == [0x81, 0x80, 0, 10])
        #expect(parser.takeRemaining() == [])
        parser.append(get().utf8)
        #expect(try parser.next() == nil)
    }
}
