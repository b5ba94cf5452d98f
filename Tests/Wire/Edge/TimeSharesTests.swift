import Dispatch
import Glibc
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorEdge

@Suite("A loop's time", .timeLimit(.minutes(1)))
struct TimeSharesTests {
    private static func configuration(percent: Int?) -> EdgeConfiguration {
        .socketIO().with { $0.limits.loopTimePerAddress = percent }
    }

    /// Uses up an address' share, which is a hundredth of the loop here: the address then waits for
    /// nearly two seconds, in which even a busy machine serves the others.
    private static func spend(_ name: String, _ taken: borrowing Mutex<[String]>) {
        taken.withLock { $0.append(name) }
        run(for: 0.02)
    }

    @Test("an address that used up its share waits on all of its connections, while others are served")
    func requests() async throws {
        let taken = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/1" { Self.spend("/1", taken) } else { taken.withLock { $0.append(request.path) } }
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(configuration: Self.configuration(percent: 1), behaviour) { server in
            let (first, second, other) = (try server.client(), try server.client(), try server.client(from: 2))
            try first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try first.response().status == 200)
            try second.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try other.request("GET", "/other").status == 200)
            #expect(taken.withLock { $0 } == ["/1", "/other"])
            #expect(try first.response().status == 200)
            #expect(try second.response().status == 200)
            #expect(taken.withLock { $0 } == ["/1", "/other", "/2", "/3"])
        }
    }

    @Test("a request that arrives in time, and waits for its share, may take twice the time")
    func deadlines() async throws {
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/1" { Self.run(for: 0.02) }
            responder.send(HTTPResponse(status: 200))
        })
        let configuration = Self.configuration(percent: 1).with {
            $0.headTimeout = .milliseconds(1500)
            $0.idleTimeout = .milliseconds(1500)
        }
        try await TestServer.run(configuration: configuration, behaviour) { server in
            let (first, second) = (try server.client(), try server.client())
            try first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try first.response().status == 200)
            try second.send("GET /3 HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try first.response().status == 200 && second.response().status == 200)
            // A request that has begun and does not continue times out.
            try first.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP")
            #expect(try first.response().status == 200 && first.response().status == 408)
        }
    }

    @Test(
        "the chunks of a refused body wait for their client's share, and a body of a known length is dropped at once",
        arguments: [false, true])
    func refusedBodies(behindProxy: Bool) async throws {
        // Called on the loop's thread, so that the share is spent before any of it is received.
        let sendBodies = Mutex<@Sendable () -> Void>({})
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/spend" {
                Self.run(for: 0.2)
                sendBodies.withLock { $0 }()
            }
            responder.send(HTTPResponse(status: 200))
        })
        let configuration = Self.configuration(percent: 1).with {
            $0.http.maxBodyBytes = 1000
            if behindProxy { $0.trustedProxies = [IPNetwork("127.0.0.0/8")].compactMap(\.self) }
        }
        func head(_ line: String, from client: Int = 1) -> String {
            "\(line) HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.\(client)\r\n"
        }
        try await TestServer.run(configuration: configuration, behaviour) { server in
            let (chunked, whole, other) = (try server.client(), try server.client(), try server.client(from: 2))
            let chunks = String(repeating: "1\r\nx\r\n", count: 600)
            try chunked.send(head("POST /") + "Transfer-Encoding: chunked\r\n\r\n" + chunks + chunks)
            try whole.send(head("POST /") + "Content-Length: 4000\r\n\r\n")
            #expect(try chunked.response().status == 413 && whole.response().status == 413)
            let counters = server.edge.counters
            let (sendChunked, sendWhole) = (chunked.sendFromElsewhere, whole.sendFromElsewhere)
            sendBodies.withLock {
                $0 = {
                    sendWhole(String(repeating: "x", count: 3500))
                    sendChunked(chunks)
                }
            }
            let spending = try server.client()
            try spending.send(head("GET /spend") + "\r\n")
            #expect(try spending.response().status == 200)
            // On a busy machine the kernel delivers the bodies some turns later; the share comes after 20 s.
            while counters.bufferedBytes != 4096 { await Task.yield() }
            try other.send(head("GET /other", from: 2) + "\r\n")
            #expect(try other.response().status == 200)
            #expect(counters.bufferedBytes == 4096)
        }
    }

    @Test("the chunks of a body that was refused on another loop are charged to the proxy's client, too")
    func refusedElsewhere() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let (proxy, client) = (try #require(IPAddress("127.0.0.1")), try #require(IPAddress("192.0.2.1")))
        let configuration = EdgeConfiguration.socketIO().with {
            $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap(\.self)
        }
        var parser = HTTPRequestParser(limits: configuration.http)
        let body = "7d00\r\n" + String(repeating: "x", count: 32_000) + "\r\n"
        parser.append(
            Array(
                ("POST / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nTransfer-Encoding: chunked\r\n\r\n" + body)
                    .utf8))
        let request = try #require(try parser.next()?.request)
        let loop = group.loops[0]
        let left = await withCheckedContinuation { [parser] continuation in
            loop.execute {
                var parser = parser
                let shares = TimeShares(percent: 100, on: loop)
                var interval = shares.begin(for: client, received: 1 << 30)
                _ = interval.goesOn()
                _ = parser.dropBody()
                var input = FairInput(from: proxy, countedAs: nil, configuration)
                input.note(request)
                var next = shares.begin(for: nil)
                let event = try? input.next(from: &parser, in: &next)
                continuation.resume(returning: event == nil ? parser.bufferedBytes : 0)
            }
        }
        #expect(left > 0)
    }

    @Test("a share has the configured size, also above half and beside whole parts", arguments: [30, 70])
    func shares(percent: Int) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let loop = group.loops[0]
        let address = try #require(IPAddress("192.0.2.1"))
        let (began, woken) = await withCheckedContinuation { continuation in
            loop.execute {
                let shares = TimeShares(percent: percent, on: loop)
                let began = ContinuousClock.now
                // Receiving a gibibyte counts as 524 ms of work, whatever else the machine does.
                var interval = shares.begin(for: address, received: 1 << 30)
                let goesOn = interval.goesOn()
                #expect(!goesOn)
                shares.wait(for: address) { continuation.resume(returning: (began, ContinuousClock.now)) }
            }
        }
        let paid = Duration.milliseconds(524) * 100 / percent
        // Minus the time that may be used at once.
        #expect(began.duration(to: woken) > paid - .milliseconds(10))
    }

    @Test("work for an address over its share waits, and others' does not wait for it")
    func performing() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let loop = group.loops[0]
        let (busy, other) = (try #require(IPAddress("192.0.2.1")), try #require(IPAddress("192.0.2.2")))
        let order = await withCheckedContinuation { continuation in
            loop.execute {
                nonisolated(unsafe) var order: [String] = []
                let shares = TimeShares(percent: 100, on: loop)
                // Receiving a gibibyte counts as 524 ms of work.
                var interval = shares.begin(for: busy, received: 1 << 30)
                _ = interval.goesOn()
                shares.perform(for: busy) { continuation.resume(returning: order + ["busy"]) }
                shares.perform(for: other) { order.append("other") }
            }
        }
        #expect(order == ["other", "busy"])
    }

    @Test("many addresses that have some of their shares again at once continue in turns")
    func wakingInTurns() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let loop = group.loops[0]
        let turns = await withCheckedContinuation { continuation in
            loop.execute {
                nonisolated(unsafe) var turns: [LoopInstant] = []
                let shares = TimeShares(percent: 100, on: loop)
                for number in 1...8 {
                    shares.wait(for: IPAddress("192.0.2.\(number)")) {
                        turns.append(loop.now)
                        Self.run(for: 0.002)
                        if turns.count == 8 { continuation.resume(returning: turns) }
                    }
                }
                // The timers of all of them are due after this.
                Self.run(for: 0.005)
            }
        }
        #expect(Set(turns.map(\.nanoseconds)).count == 8)
    }

    @Test("finding out who sends a long head counts as its client's time")
    func lookups() async throws {
        let taken = Mutex<[String]>([])
        var behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            taken.withLock { $0.append(request.path) }
            responder.send(HTTPResponse(status: 200))
        })
        behaviour.onLookup = { Self.run(for: 0.02) }
        try await TestServer.run(configuration: Self.configuration(percent: 1), behaviour) { server in
            let (long, second, other) = (try server.client(), try server.client(), try server.client(from: 2))
            let field = "X: " + String(repeating: "x", count: 5000)
            try long.send("POST / HTTP/1.1\r\nHost: x\r\n\(field)\r\nContent-Length: 1\r\n\r\n")
            #expect(try other.request("GET", "/before").status == 200)
            try second.send("GET /second HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try other.request("GET", "/after").status == 200)
            #expect(taken.withLock { $0 } == ["/before", "/after"])
            #expect(try second.response().status == 200)
        }
    }

    @Test("a share used up within an interval stays used up for all of it, even if the thread does not run")
    func intervals() async throws {
        let group = try EventLoopGroup(loopCount: 1)
        defer { group.shutdown() }
        let loop = group.loops[0]
        let address = try #require(IPAddress("192.0.2.1"))
        let answers = await withCheckedContinuation { continuation in
            loop.execute {
                // Receiving counts as 3 ms of work; 1 ms is free, so the wait is 2 ms.
                var interval = TimeShares(percent: 100, on: loop).begin(for: address, received: 6 << 20)
                let first = interval.goesOn()
                usleep(20_000)
                continuation.resume(returning: [first, interval.goesOn()])
            }
        }
        #expect(answers == [false, false])
    }

    /// Keeps the thread busy for so many seconds of its own time, however long others use the core
    /// meanwhile.
    private static func run(for seconds: Double) {
        func used() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        }
        let end = used() + seconds
        while used() < end {}
    }

    private static let rawEndpoint = EdgeConfiguration(endpoints: []).with {
        $0.limits.loopTimePerAddress = 1
    }

    @Test("nothing more is processed for a closed WebSocket, also not what waited for its share")
    func closedWhileWaiting() async throws {
        // Called on the loop's thread, so that the close comes before the share does, however busy the machine is.
        let disconnect = Mutex<(@Sendable () -> Void)?>(nil)
        let behaviour = TestDelegate.Behaviour(onMessage: { webSocket, message in
            guard message == "1" else { return }
            // A second beyond the share.
            Self.run(for: 0.015)
            // Nobody reads it: that makes the close a reset, which is noticed while nothing is read.
            webSocket.send(Array("taken".utf8), isBinary: false)
            disconnect.withLock { $0 }?()
        })
        try await TestServer.run(configuration: Self.rawEndpoint, behaviour) { server in
            let (client, other) = (try server.client(), try server.client(from: 2))
            #expect(try client.openWebSocket("/ws").status == 101 && other.openWebSocket("/ws").status == 101)
            disconnect.withLock { $0 = client.disconnect }
            try client.sendFrames(["1", "2"])
            #expect(await server.next() == .message("1"))
            #expect(await server.settles { $0.connections.value == 1 })
            // This waits behind it.
            #expect(try server.client().request("GET", "/").status == 404)
            try other.sendFrame("other")
            #expect(await server.next() == .message("other"))
        }
    }

    @Test("bytes that waited for their share no longer count once they are processed")
    func countedWhileWaiting() async throws {
        let behaviour = TestDelegate.Behaviour(onMessage: { _, message in
            if message == "1" { Self.run(for: 0.006) }
        })
        try await TestServer.run(configuration: Self.rawEndpoint, behaviour) { server in
            let client = try server.client()
            #expect(try client.openWebSocket("/ws").status == 101)
            try client.sendFrames(["1", String(repeating: "x", count: 30_000)])
            for _ in 0..<2 { #expect(await server.next() != nil) }
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("each client behind a trusted proxy has its own share, and does not delay others on the same connection")
    func proxies() async throws {
        let taken = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/1" { Self.spend("/1", taken) } else { taken.withLock { $0.append(request.path) } }
            responder.send(HTTPResponse(status: 200))
        })
        let configuration = Self.configuration(percent: 1).with {
            $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap(\.self)
        }
        try await TestServer.run(configuration: configuration, behaviour) { server in
            let (first, second) = (try server.client(), try server.client())
            let (busy, other) = (["X-Forwarded-For: 192.0.2.1"], ["X-Forwarded-For: 192.0.2.2"])
            #expect(try first.request("GET", "/1", headers: busy).status == 200)
            try second.send("GET /2 HTTP/1.1\r\nHost: x\r\n\(busy[0])\r\n\r\n")
            #expect(try first.request("GET", "/other", headers: other).status == 200)
            #expect(taken.withLock { $0 } == ["/1", "/other"])
            #expect(try second.response().status == 200)
            #expect(taken.withLock { $0 } == ["/1", "/other", "/2"])
        }
    }

    @Test("a socket's messages wait for its share, too")
    func messages() async throws {
        let taken = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, event in
            if event.name == "1" { Self.spend("1", taken) } else { taken.withLock { $0.append(event.name) } }
            if let id = event.ackID { socket.send(.ack(id, event.arguments)) }
        })
        try await TestServer.run(configuration: Self.configuration(percent: 1), behaviour) { server in
            let (client, other) = (try server.connected(), try server.connected(from: 2))
            try client.sendFrame(#"421["1"]"#)
            #expect(try client.receiveFrame() == "431[]")
            try client.sendFrame(#"422["2"]"#)
            try other.sendFrame(#"421["other"]"#)
            #expect(try other.receiveFrame() == "431[]")
            #expect(taken.withLock { $0 } == ["1", "other"])
            #expect(try client.receiveFrame() == "432[]")
        }
    }

    @Test("time in which the thread did not run counts for nobody")
    func preempted() async throws {
        let taken = Mutex<[String]>([])
        let hasBegun = DispatchSemaphore(value: 0)
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            taken.withLock { $0.append(request.path) }
            if request.path == "/1" {
                hasBegun.signal()
                // As if another process had the core.
                usleep(100_000)
            }
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(configuration: Self.configuration(percent: 1), behaviour) { server in
            let (client, other) = (try server.client(), try server.client(from: 2))
            try client.send("GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n")
            hasBegun.wait()
            #expect(try other.request("GET", "/other").status == 200)
            #expect(try client.response().status == 200)
            #expect(try client.response().status == 200)
            #expect(taken.withLock { $0 } == ["/1", "/2", "/other"])
        }
    }

    @Test("without limits an address may use all of the time")
    func unlimited() async throws {
        let taken = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            Self.spend(request.path, taken)
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(configuration: Self.configuration(percent: nil), behaviour) { server in
            let client = try server.client()
            // With a hundredth of it this would take eighty seconds.
            for _ in 0..<40 { #expect(try client.request("GET", "/").status == 200) }
            #expect(taken.withLock { $0.count } == 40)
        }
    }
}
