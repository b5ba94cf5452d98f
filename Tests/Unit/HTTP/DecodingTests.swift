import ParlorHTTP
import Testing

@Suite("Paths and queries, decoded (RFC 3986, section 2.1)")
struct DecodingTests {
    private func segments(_ path: String) -> [String]? {
        HTTPRequest(method: "GET", target: path, path: path).pathSegments
    }

    @Test("segments are split, then decoded")
    func paths() {
        #expect(segments("/") == [])
        #expect(segments("/api/rooms/caf%C3%A9") == ["api", "rooms", "café"])
        #expect(segments("/a%2Fb/+") == ["a/b", "+"])
        #expect(segments("/socket.io/") == ["socket.io", ""])
        #expect(segments("//a/../b") == ["", "a", "..", "b"])
        #expect(segments("*") == nil)
    }

    @Test("a broken escape or text that is not UTF-8 is malformed", arguments: ["%", "%4", "%g0", "%-1", "%C3", "%ff"])
    func malformed(text: String) {
        #expect(segments("/a/\(text)") == nil)
        #expect(HTTPQuery(parsing: "a=\(text)") == nil)
        #expect(HTTPQuery(parsing: "\(text)=a") == nil)
    }

    @Test("too many segments or items are malformed")
    func tooMany() {
        #expect(segments(String(repeating: "/a", count: 64))?.count == 64)
        #expect(segments(String(repeating: "/a", count: 65)) == nil)
        #expect(HTTPQuery(parsing: String(repeating: "&a", count: 128))?.items.count == 128)
        #expect(HTTPQuery(parsing: String(repeating: "&a", count: 129)) == nil)
    }

    @Test("combining marks in a row, which take quadratic time to compare, are malformed over a limit")
    func combiningMarks() {
        let pair = "%CC%81%CC%96"
        #expect(segments("/a\(String(repeating: pair, count: 64))")?.count == 1)
        #expect(segments("/a\(String(repeating: pair, count: 65))") == nil)
        #expect(HTTPQuery(parsing: "a=\(String(repeating: pair, count: 65))") == nil)
    }

    @Test("items of a query are names and values, with + for a space")
    func query() throws {
        let query = try #require(HTTPQuery(parsing: "a=1&b=x+y%2B%26&&empty=&bare&a=2&c=d=e&%C3%A9=z"))
        let written = query.items.map { "\($0.name)=\($0.value)" }
        #expect(written == ["a=1", "b=x y+&", "empty=", "bare=", "a=2", "c=d=e", "é=z"])
        #expect(query["a"] == "1")
        #expect(query["missing"] == nil)
    }

    @Test("a request without a query has no items")
    func noQuery() throws {
        #expect(try #require(HTTPRequest(method: "GET", target: "/", path: "/").queryItems).items.isEmpty)
    }
}
