import ParlorHTTP
import Testing

@Suite("Request lines (RFC 9112, section 3)")
struct RequestLineTests {
    @Test("method, path and query are taken as sent")
    func parts() throws {
        let request = try #require(Outcome("PATCH /a%20b//c/?q=1&r=%2F?x HTTP/1.1\r\nHost: a\r\n\r\n").request)
        #expect(request.method == "PATCH")
        #expect(request.target == "/a%20b//c/?q=1&r=%2F?x")
        #expect(request.path == "/a%20b//c/")
        #expect(request.query == "q=1&r=%2F?x")
        #expect(request.version == .http11)
        #expect(request.body.isEmpty)
    }

    @Test("without a question mark there is no query, with one it may be empty")
    func emptyQuery() {
        #expect(Outcome(get("/a")).request?.query == nil)
        #expect(Outcome(get("/a?")).request?.query == "")
    }

    @Test(
        "a line other than method, target and version between single spaces is malformed",
        arguments: [
            "GET /", "GET  / HTTP/1.1", "GET / HTTP/1.1 ", " GET / HTTP/1.1", "GET /a b HTTP/1.1", "GET\t/ HTTP/1.1",
            "GET HTTP/1.1", "G(T / HTTP/1.1", "GÉT / HTTP/1.1", " / HTTP/1.1", "GET / http/1.1", "GET / HTTP/1",
            "GET / HTTP/1.1x", "GET / HTTP/11", "GET / HTTP/a.1", "GET / HTTPS/1.1", "GET /\u{1} HTTP/1.1",
            "GET /é HTTP/1.1", "GET /\u{7F} HTTP/1.1", "GET /#top HTTP/1.1", "GET a HTTP/1.1", "GET * HTTP/1.1",
            "GET a:80 HTTP/1.1", "GET ftp://a/ HTTP/1.1", "GET http:///a HTTP/1.1", "GET http://u@a/ HTTP/1.1",
            "\u{16}\u{3}\u{1} x HTTP/1.1",
        ])
    func malformed(line: String) {
        let outcome = Outcome("\(line)\r\nHost: a\r\n\r\n")
        #expect(outcome.events.isEmpty)
        #expect(outcome.error?.status == 400)
    }

    @Test("methods are case-sensitive, and the router refuses unknown ones")
    func methods() {
        for method in ["get", "PROPFIND", "M-SEARCH", "!#$%&'*+-.^_`|~9"] {
            #expect(Outcome("\(method) / HTTP/1.1\r\nHost: a\r\n\r\n").request?.method == method)
        }
    }

    @Test(
        "a URL as the target is its path (section 3.2.2)",
        arguments: [
            ("http://example.com/a?b", "/a", "b"), ("HTTPS://example.com:8443", "/", nil),
            ("http://[::1]:80?q", "/", "q"),
        ] as [(String, String, String?)])
    func absoluteForm(target: String, path: String, query: String?) {
        let request = Outcome(get(target)).request
        #expect(request?.target == target)
        #expect(request?.path == path)
        #expect(request?.query == query)
    }

    @Test("OPTIONS may ask about the server as a whole (section 3.2.4)")
    func asterisk() {
        #expect(Outcome("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").request?.path == "*")
    }

    @Test("CONNECT is not implemented")
    func connect() {
        #expect(Outcome("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n").error?.status == 501)
    }

    @Test(
        "another major version is refused, the preface of HTTP/2 among them",
        arguments: ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "GET / HTTP/2.0\r\n\r\n", "GET / HTTP/0.9\r\n\r\n"])
    func versions(text: String) {
        #expect(Outcome(text).error?.status == 505)
    }

    @Test("a later minor version is read as 1.1 (RFC 9110, section 2.5)")
    func minorVersion() {
        #expect(Outcome("GET / HTTP/1.2\r\nHost: a\r\n\r\n").request?.version == .http11)
    }

    @Test("a request line may be as long as the limit and no longer, whether its end has come or not")
    func length() {
        let room = HTTPLimits().maxRequestLineBytes - "GET / HTTP/1.1\r\n".utf8.count
        #expect(Outcome(get("/" + String(repeating: "a", count: room))).request != nil)
        #expect(Outcome(get("/" + String(repeating: "a", count: room + 1))).error?.status == 414)
        #expect(Outcome(String(repeating: "a", count: HTTPLimits().maxRequestLineBytes + 1)).error?.status == 414)
    }

    @Test("one empty line before a request is skipped, more are not (section 2.2)")
    func emptyLine() {
        #expect(Outcome("\r\n" + get() + "\r\n" + get()).requests.count == 2)
        #expect(Outcome("\r\n\r\n" + get()).error?.status == 400)
    }
}
