import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests with a proxy that blocks WebSockets: it refuses them, or accepts them and forwards nothing.
@Suite("FallbackTransport", .timeLimit(.minutes(1)))
struct FallbackTransportTests {
    private let clock = TestClock()
    private let url = URL(filePath: "/socket.io/")

    private struct Sockets: SocketTransport {
        enum Way { case open, cutOff, refused, silent, unsupported }

        let way: Way

        func connect(to url: URL) async throws -> any SocketConnection {
            if way == .refused { throw ClientFailure.offline("403") }
            if way == .unsupported {
                throw ClientFailure.refused(Refusal(code: "unsupported_scheme", message: "There is no TLS here."))
            }
            return Connection(way: way)
        }

        private actor Connection: SocketConnection {
            let way: Way
            private var isFirst = true

            init(way: Way) { self.way = way }

            func send(_ text: String) async throws {}
            func receive() async throws -> String {
                if way == .silent { try await Task.sleep(for: .seconds(86_400)) }
                if way == .cutOff, !isFirst { throw ClientFailure.offline("cut off") }
                isFirst = false
                return "0web"
            }
            nonisolated func close() {}
        }
    }

    /// Sockets of which each connection has another outcome.
    private actor ChangingSockets: SocketTransport {
        private var ways: [Sockets.Way]

        init(_ ways: Sockets.Way...) { self.ways = ways }

        func connect(to url: URL) async throws -> any SocketConnection {
            guard !ways.isEmpty else {
                Issue.record("nobody expects another WebSocket")
                throw ClientFailure.offline("none")
            }
            return try await Sockets(way: ways.removeFirst()).connect(to: url)
        }
    }

    /// A transport whose first connection succeeds. Later ones wait until they are cancelled.
    private actor FirstPolling: SocketTransport {
        private let polling: PollingTransport
        private var isFirst = true

        init(_ polling: PollingTransport) { self.polling = polling }

        func connect(to url: URL) async throws -> any SocketConnection {
            if !isFirst { try await Task.sleep(for: .seconds(86_400)) }
            isFirst = false
            return try await polling.connect(to: url)
        }
    }

    /// The server's side of one polling session.
    private actor Engine: HTTPTransport {
        private(set) var requests: [HTTPRequest] = []
        private var answers: [String]
        private(set) var posts: [String] = []

        /// - Parameter answers: the answers after the handshake.
        init(_ answers: [String] = ["40{}\u{1e}42[\"a\",1]", "2"]) {
            self.answers = [#"0{"sid":"s1","pingInterval":25000,"pingTimeout":20000}"#] + answers
        }

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

    @Test("if WebSockets are refused, it polls, in order, and reports that")
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

    @Test("if a WebSocket opens but nothing passes, it polls")
    func silent() async throws {
        let transport = FallbackTransport(
            webSockets: Sockets(way: .silent), polling: PollingTransport(http: Engine()), clock: clock)
        async let connection = transport.connect(to: url)
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        _ = try await connection
        #expect(transport.isPolling)
    }

    @Test("after two WebSockets that were cut off in a row, it polls")
    func cutOff() async throws {
        let sockets = ChangingSockets(.cutOff, .open, .cutOff, .cutOff)
        let transport = FallbackTransport(
            webSockets: sockets, polling: PollingTransport(http: Engine()), clock: clock)
        for isCutOff in [true, false, true, true] {
            let connection = try await transport.connect(to: url)
            #expect(try await connection.receive() == "0web")
            #expect((try? await connection.receive()) == (isCutOff ? nil : "0web"))
            #expect(!transport.isPolling)
        }
        _ = try await transport.connect(to: url)
        #expect(transport.isPolling)
    }

    @Test("a WebSocket that works is used, from its first packet on")
    func open() async throws {
        let transport = FallbackTransport(
            webSockets: Sockets(way: .open), polling: PollingTransport(http: Engine()), clock: clock)
        let connection = try await transport.connect(to: url)
        #expect(!transport.isPolling)
        #expect(try await connection.receive() == "0web")
    }

    @Test("if nothing works, it throws the WebSocket's failure")
    func offline() async throws {
        let engine = ScriptedServer(clock: clock).makeDevice()
        engine.setAirplaneMode(true)
        let transport = FallbackTransport(
            webSockets: Sockets(way: .refused), polling: PollingTransport(http: engine), clock: clock)
        await #expect(throws: ClientFailure.offline("403")) { try await transport.connect(to: url) }
        #expect(!transport.isPolling)
    }

    @Test("if the platform has no WebSocket, a network loss is still retryable")
    func unsupported() async throws {
        let device = ScriptedServer(clock: clock).makeDevice()
        device.setAirplaneMode(true)
        let transport = FallbackTransport(
            webSockets: Sockets(way: .unsupported), polling: PollingTransport(http: device), clock: clock)
        let failure = await #expect(throws: ClientFailure.self) { try await transport.connect(to: url) }
        #expect(failure?.isRetryable == true)
    }

    @Test("a WebSocket that failed during a server's start is retried once polling works")
    func restart() async throws {
        let engine = Engine()
        let transport = FallbackTransport(
            webSockets: ChangingSockets(.refused, .open), polling: PollingTransport(http: engine), clock: clock)
        let connection = try await transport.connect(to: url)
        #expect(!transport.isPolling)
        #expect(try await connection.receive() == "0web")
        // The unused session is closed.
        await lookUntil { await engine.posts == ["1"] }
    }

    @Test("a cancelled connect while polling does not change the transport")
    func cancelled() async throws {
        let transport = FallbackTransport(
            webSockets: ChangingSockets(.refused, .refused), polling: FirstPolling(PollingTransport(http: Engine())),
            clock: clock)
        _ = try await transport.connect(to: url)
        #expect(transport.isPolling)
        let waiting = Task { try await transport.connect(to: url) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { _ = try await waiting.value }
        #expect(transport.isPolling)
    }

    @Test("an empty poll ends the connection, and is not repeated without a pause")
    func emptyAnswer() async throws {
        let engine = Engine([""])
        let connection = try await PollingTransport(http: engine).connect(to: url)
        #expect(try await connection.receive().hasPrefix("0{"))
        let failure = await #expect(throws: ClientFailure.self) { try await connection.receive() }
        #expect(failure?.isRetryable == true)
        #expect(await engine.requests.count == 2)
    }
}
