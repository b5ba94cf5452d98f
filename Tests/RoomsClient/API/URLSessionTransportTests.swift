import Foundation
import Testing

@testable import RoomsClient

@Suite("URLSessionTransport")
struct URLSessionTransportTests {
    @Test("a request's address: the server's path before, everything encoded")
    func address() throws {
        let base = try #require(URL(string: "https://chat.example:8443/parlor/"))
        let request = HTTPRequest(
            "PUT", "/api/rooms/a%2Fb/name", query: [URLQueryItem(name: "q", value: "a+b&c=d é")],
            headers: ["X-Request-Id": "q1"], body: Data("{}".utf8))
        let sent = try URLSessionTransport(base: base).urlRequest(request)
        #expect(
            sent.url?.absoluteString
                == "https://chat.example:8443/parlor/api/rooms/a%2Fb/name?q=a%2Bb%26c%3Dd%20%C3%A9")
        #expect(sent.httpMethod == "PUT" && sent.httpBody == Data("{}".utf8))
        #expect(sent.value(forHTTPHeaderField: "X-Request-Id") == "q1")
    }

    @Test("nobody there is offline")
    func nobody() async throws {
        // Port 1 is nobody's.
        let base = try #require(URL(string: "http://127.0.0.1:1"))
        let failure = await #expect(throws: ClientFailure.self) {
            try await URLSessionTransport(base: base).send(HTTPRequest("GET", "/api/users/me"))
        }
        #expect(failure?.isRetryable == true)
    }
}
