import ParlorHTTP
import Testing

@Suite("Header fields (RFC 9112, section 5)")
struct HeaderFieldTests {
    @Test("names are found in any case, values come without the white space around them")
    func values() throws {
        let headers = try #require(Outcome(get("/", "X-One: \t a b \t", "x-one:second", "Empty:")).request).headers
        #expect(headers["x-ONE"] == "a b")
        #expect(headers.all("X-One") == ["a b", "second"])
        #expect(headers["Empty"] == "")
        #expect(headers["Missing"] == nil)
        #expect(headers.map(\.name) == ["Host", "X-One", "x-one", "Empty"])
    }

    @Test("bytes from 0x80 may stand in a value (RFC 9110, section 5.5)")
    func nonASCII() {
        #expect(Outcome(get("/", "X-Name: Zoë")).request?.headers["X-Name"] == "Zoë")
    }

    @Test("combining marks in a row, which take quadratic time to compare, are refused over a limit")
    func combiningMarks() {
        let pair = "\u{301}\u{316}"
        #expect(Outcome(get("/", "X-Name: a" + String(repeating: pair, count: 64))).request != nil)
        #expect(Outcome(get("/", "X-Name: a" + String(repeating: pair, count: 65))).error?.status == 400)
    }

    @Test(
        "a line without a valid field is malformed",
        arguments: [
            "no colon", ": no name", "Name : space before the colon", "Na me: x", "Näme: x", " folded: first",
            "X: a\u{0}b", "X: a\u{1}b", "X: a\u{7F}b", "X: a\rb", "X: a\r", "(X): y",
        ])
    func malformed(line: String) {
        #expect(Outcome(get("/", line)).error?.status == 400)
    }

    @Test("a folded field is refused (section 5.2)", arguments: [" folded", "\tfolded", " "])
    func folded(line: String) {
        #expect(Outcome(get("/", "X: a", line)).error?.status == 400)
    }

    @Test(
        "a line that ends in LF alone is refused wherever it stands (section 2.2)",
        arguments: [
            "GET / HTTP/1.1\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\n",
            "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        ])
    func bareLF(text: String) {
        let outcome = Outcome(text)
        #expect(outcome.events.isEmpty)
        #expect(outcome.error?.status == 400)
    }

    @Test("fields may be as many as the limit and no more")
    func count() {
        func fields(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: count - 1) + "\r\n"
        }
        #expect(Outcome(fields(100)).request?.headers.count == 100)
        #expect(Outcome(fields(101)).error?.status == 431)
    }

    @Test("the head may be as large as the limit and no larger, whether its end has come or not")
    func size() {
        let room = HTTPLimits().maxHeadBytes - get("/", "X: ").utf8.count
        #expect(Outcome(get("/", "X: " + String(repeating: "a", count: room))).request != nil)
        #expect(Outcome(get("/", "X: " + String(repeating: "a", count: room + 1))).error?.status == 431)
        let endless = "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: HTTPLimits().maxHeadBytes)
        #expect(Outcome(endless).error?.status == 431)
    }

    @Test(
        "HTTP/1.1 needs one valid Host (section 3.2)",
        arguments: [
            "", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: u@a\r\n", "Host: a:b\r\n",
            "Host: a:80:80\r\n", "Host: [::1\r\n", "Host: []\r\n", "Host: [::1]80\r\n", "Host: a, b\r\n",
        ])
    func badHost(lines: String) {
        #expect(Outcome("GET / HTTP/1.1\r\n\(lines)\r\n").error?.status == 400)
    }

    @Test(
        "names, addresses, ports and an empty value are valid hosts",
        arguments: ["example.com", "example.com:8080", "127.0.0.1:1", "[::1]", "[2001:db8::1.2.3.4]:443", "a:", ""])
    func goodHost(host: String) {
        #expect(Outcome("GET / HTTP/1.1\r\nHost: \(host)\r\n\r\n").request?.headers["host"] == host)
    }

    @Test("HTTP/1.0 may leave Host out, but not give it twice")
    func hostInHTTP10() {
        #expect(Outcome("GET / HTTP/1.0\r\n\r\n").request?.version == .http10)
        #expect(Outcome("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n").error?.status == 400)
    }

    @Test(
        "the connection stays open as section 9.3 says",
        arguments: [
            ("1.1", "", true), ("1.1", "Connection: close\r\n", false), ("1.1", "Connection: x,\tCLOSE\r\n", false),
            ("1.1", "Connection: keep-alive\r\nConnection: close\r\n", false),
            ("1.1", "Connection: closed\r\n", true), ("1.0", "", false), ("1.0", "Connection: Keep-Alive\r\n", true),
            ("1.0", "Connection: keep-alive, close\r\n", false),
        ])
    func keepAlive(version: String, lines: String, expected: Bool) {
        #expect(Outcome("GET / HTTP/\(version)\r\nHost: a\r\n\(lines)\r\n").request?.keepAlive == expected)
    }

    @Test("a list is searched over all its fields, member by member")
    func lists() {
        var headers: HTTPHeaders = ["Connection": "keep-alive , Upgrade"]
        #expect(headers.list("connection", contains: "upgrade"))
        #expect(!headers.list("Connection", contains: "close"))
        #expect(!headers.list("Connection", contains: "keep"))
        headers.add("connection", ",close")
        #expect(headers.list("Connection", contains: "close"))
        #expect(headers.all("Connection") == ["keep-alive , Upgrade", ",close"])
    }

    @Test("a list is read from its end over all its fields, until the reader has enough")
    func fromTheEnd() {
        let long = String(repeating: "x", count: 65)
        let headers: HTTPHeaders = ["Via": "a, b ", "Other": "z", "via": ",\(long),d"]
        var found: [String] = []
        headers.forEachMemberFromTheEnd("VIA") {
            found.append($0)
            return true
        }
        #expect(found == ["d", "", "", "b", "a"])
        found = []
        headers.forEachMemberFromTheEnd("Via") {
            found.append($0)
            return found.count < 2
        }
        #expect(found == ["d", ""])
        HTTPHeaders().forEachMemberFromTheEnd("Via") { _ in
            Issue.record("there is none")
            return true
        }
    }

    @Test(
        "a coding is accepted by its name, unless its weight is zero",
        arguments: [
            ("gzip", true), ("br, GZip;q=0.5", true), ("deflate ,gzip ; q=1", true), ("gzip;q=0.001", true),
            ("", false),
            ("br", false), ("x-gzip", false), ("gzip;q=0", false), ("gzip ; q=0.000", false), ("gzip;q=0,br", false),
            (String(repeating: "a,", count: 128) + "gzip", false),
        ])
    func codings(field: String, isAccepted: Bool) {
        #expect((["Accept-Encoding": field] as HTTPHeaders).acceptsCoding("gzip") == isAccepted)
        #expect(!HTTPHeaders().acceptsCoding("gzip"))
    }

    @Test("headers are equal by name in any case, by value, and by order")
    func equality() {
        #expect(["A": "1", "B": "2"] as HTTPHeaders == ["a": "1", "b": "2"])
        #expect(["A": "1", "B": "2"] as HTTPHeaders != ["B": "2", "A": "1"])
        #expect(["A": "x"] as HTTPHeaders != ["A": "X"])
    }
}
