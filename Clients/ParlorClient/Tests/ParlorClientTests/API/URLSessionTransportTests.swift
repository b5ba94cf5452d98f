import Foundation
import Testing

@testable import ParlorClient

@Suite("URLSessionTransport")
struct URLSessionTransportTests {
    @Test("a request's URL begins with the server's path, and everything is percent-encoded")
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

    @Test("a request may have a time limit of its own")
    func timeLimit() throws {
        let transport = URLSessionTransport(base: try #require(URL(string: "https://chat.example")))
        var request = HTTPRequest("GET", "/socket.io/")
        request.timeout = .seconds(3_620)
        #expect(try transport.urlRequest(request).timeoutInterval == 3_620)
    }

    @Test("a refused connection is offline")
    func nobody() async throws {
        // Nothing listens on port 1.
        let base = try #require(URL(string: "http://127.0.0.1:1"))
        let failure = await #expect(throws: ClientFailure.self) {
            try await URLSessionTransport(base: base).send(HTTPRequest("GET", "/api/users/me"))
        }
        #expect(failure?.isRetryable == true)
    }

    @Test("a request that is cancelled just as it ends returns", .timeLimit(.minutes(1)))
    func cancelledAtItsEnd() async throws {
        let base = try #require(URL(string: "http://127.0.0.1:1"))
        let transport = URLSessionTransport(base: base)
        for _ in 0..<100 {
            let requests = (0..<20).map { _ in
                Task { _ = try? await transport.send(HTTPRequest("GET", "/api/users/me")) }
            }
            // By now some requests have failed, some are failing, and some have not begun.
            await requests[0].value
            for request in requests { request.cancel() }
            for request in requests { await request.value }
        }
    }
}
