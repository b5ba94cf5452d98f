import ParlorHTTP
import Testing

@Suite("Responses (RFC 9112, section 4)")
struct ResponseTests {
    private let date = HTTPDate.string(unixTime: 784_111_777)

    private func written(_ response: HTTPResponse, keepAlive: Bool = true, headOnly: Bool = false) -> String {
        String(decoding: response.encode(keepAlive: keepAlive, headOnly: headOnly, date: date).joined(), as: UTF8.self)
    }

    @Test("a response is a status, its headers, what the connection does, a length, a date and the body")
    func whole() {
        let response = HTTPResponse(status: 201, headers: ["X-One": "1", "Allow": "GET"], body: Array("{}".utf8))
        #expect(
            written(response) == """
                HTTP/1.1 201 Created\r
                X-One: 1\r
                Allow: GET\r
                Connection: keep-alive\r
                Content-Length: 2\r
                Date: Sun, 06 Nov 1994 08:49:37 GMT\r
                \r
                {}
                """)
        #expect(written(response, keepAlive: false).contains("\r\nConnection: close\r\n"))
    }

    @Test("a large body is a separate piece after its head, shared and not copied, and absent for HEAD")
    func largeBody() {
        let response = HTTPResponse(status: 200, body: Array(repeating: 0x61, count: 100_000))
        let pieces = response.encode(keepAlive: true, date: date)
        #expect(pieces.count == 2 && pieces[1] == response.body)
        #expect(pieces[1].withUnsafeBytes(\.baseAddress) == response.body.withUnsafeBytes(\.baseAddress))
        #expect(written(response).hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(written(response).contains("\r\nContent-Length: 100000\r\n"))
        #expect(response.encode(keepAlive: true, headOnly: true, date: date).count == 1)
    }

    @Test("an answer to HEAD has the body's length and no body")
    func head() {
        let text = written(HTTPResponse(status: 200, body: Array("hello".utf8)), headOnly: true)
        #expect(text.contains("\r\nContent-Length: 5\r\n"))
        #expect(text.hasSuffix("\r\n\r\n"))
    }

    @Test(
        "an empty body has a length too, except where a status allows none", arguments: [200, 404, 413, 204, 304, 101])
    func lengths(status: Int) {
        let text = written(HTTPResponse(status: status))
        #expect(text.contains("Content-Length: 0") == ![204, 304, 101].contains(status))
    }

    @Test("a 204 has no body, even if it is given one")
    func noContent() {
        #expect(written(HTTPResponse(status: 204, body: [65])).hasSuffix("\r\n\r\n"))
    }

    @Test("an upgrade keeps its own Connection; any other answer gets the encoder's")
    func connection() {
        let headers: HTTPHeaders = ["Connection": "Upgrade", "Upgrade": "websocket"]
        #expect(written(HTTPResponse(status: 101, headers: headers)).contains("\r\nConnection: Upgrade\r\n"))
        #expect(!written(HTTPResponse(status: 200, headers: headers)).contains("Connection: Upgrade"))
    }

    @Test("framing given as a header is not written")
    func reserved() {
        let headers: HTTPHeaders = ["content-length": "7777", "Transfer-Encoding": "chunked", "DATE": "now"]
        let text = written(HTTPResponse(status: 200, headers: headers))
        #expect(!text.contains("7777") && !text.contains("chunked") && !text.contains("now"))
    }

    @Test("a value cannot end its line (RFC 9110, section 5.5)")
    func injection() {
        let response = HTTPResponse(status: 200, headers: ["X-Request-Id": "a\r\nSet-Cookie: b\u{0}\u{7F}"])
        #expect(written(response).contains("\r\nX-Request-Id: a  Set-Cookie: b  \r\n"))
        #expect(!HTTPHeaders.isName("X\r\nY") && !HTTPHeaders.isName("") && HTTPHeaders.isName("X-Y"))
    }

    @Test("an unknown status has an empty reason, but the space before it")
    func unknownStatus() {
        #expect(written(HTTPResponse(status: 299)).hasPrefix("HTTP/1.1 299 \r\n"))
    }

    @Test(
        "dates have the format of RFC 9110, section 5.6.7",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"), (1_704_067_199, "Sun, 31 Dec 2023 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-1, "Thu, 01 Jan 1970 00:00:00 GMT"), (.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ])
    func dates(time: Int, text: String) {
        #expect(HTTPDate.string(unixTime: time) == text)
    }
}
