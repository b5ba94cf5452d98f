import Foundation
import ParlorReactor
import Testing

@testable import ParlorClient

/// Never answers.
private final class Silence: ChannelHandler {
    func channel(_ channel: Channel, received bytes: sending UnsafeRawBufferPointer) {}
    func channelDidClose(_ channel: Channel, reason: CloseReason) {}
}

@Suite("URLSessionTransport: time limits on Linux", .timeLimit(.minutes(1)))
struct RequestTimeoutTests {
    @Test("a request's own time limit counts instead of the transport's")
    func ownLimit() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let server = try TCPListener.bind(host: "127.0.0.1", port: 0, on: group) { _ in Silence() }
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        // The transport's own limit is longer than the test may take.
        let transport = URLSessionTransport(base: base, timeout: 3_600)
        var request = HTTPRequest("GET", "/socket.io/")
        request.timeout = .seconds(1)
        let sent = request
        let failure = await #expect(throws: ClientFailure.self) { try await transport.send(sent) }
        #expect(failure?.isRetryable == true)
    }
}
