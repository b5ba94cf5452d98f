import Foundation
import RoomsClient
import RoomsClientTesting
import Testing

/// A proxy that lets no WebSocket through: it refuses them, or takes them and lets nothing pass.
@Suite("FallbackTransport", .timeLimit(.minutes(1)))
struct FallbackTransportTests {
    private let clock = TestClock()
    private let url = URL(filePath: "/socket.io/")

    private struct Sockets: SocketTransport {
        enum Way { case open, refused, silent }

        let way: Way

        func connect(to url: URL) async throws -> any SocketConnection {
            if way == .refused { throw ClientFailure.offline("403") }
            return Connection(isSilent: way == .silent)
        }

        private struct Connection: SocketConnection {
            let isSilent: Bool

            func send(_ text: String) async throws {}
            func receive() async throws -> String {
                if isSilent { try await Task.sleep(for: .seconds(86_400)) }
                return "0web"
            }
            func close() {}
        }
    }

    /// Plays the server's side of one session.
    private actor Engine: HTTPTransport {
        private(set) var requests: [HTTPRequest] = []
        private var answers = [
            #"0{"sid":"s1","pingInterval":25000,"pingTimeout":20000}"#, "40{}\u{1e}42[\"a\",1]", "2",
        ]
        private(set) var posts: [String] = []

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            requests.append(request)
            if request.method == "POST" {
                posts.append(String(decoding: request.body ?? Data(), as: UTF8.self))
                return HTTPResponse(status: 200, headers: [:], body: Data("ok".utf8))
            }
            guard !answers.isEmpty else { throw ClientFailure.offline("over") }
            return HTTPResponse(status: 200, headers: [:], body: Data(answers.removeFirst().utf8))
        }
    }

    @Test("it polls where WebSockets are refused, in order, and says so")
    func refused() async throws {
        let engine = Engine()
        let transport = FallbackTransport(
            webSockets: Sockets(way: .refused), polling: PollingTransport(http: engine), clock: clock)
        let connection = try await transport.connect(to: url)
        #expect(transport.isPolling)
        #expect(try await connection.receive().hasPrefix("0{"))
        try await connection.send("40{}")
        #expect(try await connection.receive() == "40{}")
        #expect(try await connection.receive() == #"42["a",1]"#)
        #expect(try await connection.receive() == "2")
        await #expect(throws: ClientFailure.self) { try await connection.receive() }
        #expect(await engine.posts == ["40{}"])
        let queries = await engine.requests.dropFirst().map { request in
            request.query.first { $0.name == "sid" }?.value
        }
        #expect(queries.allSatisfy { $0 == "s1" })
    }

    @Test("it polls where a WebSocket opens and nothing passes")
    func silent() async throws {
        let transport = FallbackTransport(
            webSockets: Sockets(way: .silent), polling: PollingTransport(http: Engine()), clock: clock)
        async let connection = transport.connect(to: url)
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        _ = try await connection
        #expect(transport.isPolling)
    }

    @Test("a WebSocket that gets through is used, with all that it brings")
    func open() async throws {
        let transport = FallbackTransport(
            webSockets: Sockets(way: .open), polling: PollingTransport(http: Engine()), clock: clock)
        let connection = try await transport.connect(to: url)
        #expect(!transport.isPolling)
        #expect(try await connection.receive() == "0web")
    }

    @Test("where nothing gets through, the WebSocket's words are the failure")
    func offline() async throws {
        let engine = ScriptedServer(clock: clock).makeDevice()
        engine.setAirplaneMode(true)
        let transport = FallbackTransport(
            webSockets: Sockets(way: .refused), polling: PollingTransport(http: engine), clock: clock)
        await #expect(throws: ClientFailure.offline("403")) { try await transport.connect(to: url) }
        #expect(!transport.isPolling)
    }
}
