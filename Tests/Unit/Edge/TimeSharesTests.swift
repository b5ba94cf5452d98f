import Dispatch
import Edge
import Glibc
import HTTP
import JSON
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("A loop's time", .timeLimit(.minutes(1)))
struct TimeSharesTests {
    /// What an address may use of a loop is a hundredth here, so that one request of these is over it for 0.3 s at least.
    private static let work: Duration = .milliseconds(4)

    private static func configuration(percent: Int?) -> EdgeConfiguration {
        .socketIO().with { $0.limits.loopTimePerAddress = percent }
    }

    private static func spend(_ name: String, _ taken: borrowing Mutex<[String]>) {
        taken.withLock { $0.append(name) }
        let end = ContinuousClock.now + work
        while ContinuousClock.now < end {}
    }

    @Test("an address that has had its share waits, on all of its connections, and others are served meanwhile")
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

    @Test("behind a trusted proxy each client has a share, and waits on no connection that brings others' requests")
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

    @Test("a socket's messages wait likewise")
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

    @Test("while the thread did not run, nobody had any of it")
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

    @Test("without limits an address may have all of it")
    func unlimited() async throws {
        let taken = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            Self.spend(request.path, taken)
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(configuration: Self.configuration(percent: nil), behaviour) { server in
            let client = try server.client()
            // With a hundredth of it this would take eighty seconds.
            for _ in 0..<200 { #expect(try client.request("GET", "/").status == 200) }
            #expect(taken.withLock { $0.count } == 200)
        }
    }
}
