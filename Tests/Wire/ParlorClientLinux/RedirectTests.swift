import Foundation
import ParlorReactor
import Synchronization
import Testing

@testable import ParlorClient

/// Gives each request the same answer, and counts them.
private final class FixedAnswer: ChannelHandler {
    private let answer: [UInt8]
    private let received: RequestCount

    init(_ answer: String, counting received: RequestCount) {
        self.answer = Array(answer.utf8)
        self.received = received
    }

    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {
        received.add()
        channel.write(answer)
    }

    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

private final class RequestCount: Sendable {
    private let count = Mutex(0)
    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}

@Suite("URLSessionTransport on Linux", .timeLimit(.minutes(1)))
struct RedirectTests {
    @Test("a redirect is not followed: the access token stays with the server", arguments: [301, 302, 307, 308])
    func redirect(_ status: Int) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let (asked, askedElsewhere) = (RequestCount(), RequestCount())
        let elsewhere = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
            FixedAnswer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", counting: askedElsewhere)
        }
        let location = "http://localhost:\(elsewhere.port)/api/users/me"
        let server = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in
            FixedAnswer(
                "HTTP/1.1 \(status) Moved\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n", counting: asked)
        }
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        let request = HTTPRequest("GET", "/api/users/me", headers: ["Authorization": "Bearer secret"])
        let response = try await URLSessionTransport(base: base).send(request)
        #expect(response.status == status)
        #expect(asked.value == 1)
        #expect(askedElsewhere.value == 0)
    }
}
