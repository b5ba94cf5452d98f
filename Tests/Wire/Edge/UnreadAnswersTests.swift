import ParlorEdge
import ParlorHTTP
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@Suite("Clients that send without reading", .timeLimit(.minutes(1)))
struct UnreadAnswersTests {
    private static let answer = TestDelegate.Behaviour(onRequest: { request, _, responder in
        let response = HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 8 * 1024))
        guard request.path == "/slow" else { return responder.send(response) }
        responder.loop.execute { responder.loop.execute { responder.send(response) } }
    })

    private static func requests(_ path: String, _ count: Int) -> [UInt8] {
        Array(String(repeating: "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n", count: count).utf8)
    }

    @Test(
        "no more requests are read from a client that reads no answer, and it is disconnected",
        arguments: ["/", "/slow"])
    func pipelining(path: String) async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.writeTimeout = .seconds(1) }, Self.answer) {
            server in
            let client = try server.client(receiveBuffer: 4096)
            client.flood(Self.requests(path, 1000))
            var most = 0
            while server.edge.counters.slowCloses.value == 0 {
                most = max(most, server.edge.counters.bufferedBytes)
                await Task.yield()
            }
            // What the parser has read ahead, and a few answers.
            #expect(most < 1 << 20)
            while server.edge.counters.bufferedBytes > 0 { await Task.yield() }
        }
    }

    @Test("more requests give a client that does not read no more time")
    func trickle() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.writeTimeout = .milliseconds(500) }, Self.answer)
        {
            server in
            let client = try server.client(receiveBuffer: 4096)
            try client.send(Self.requests("/", 1000))
            // Each of these comes long before the time is over, and is not answered.
            while server.edge.counters.slowCloses.value == 0 {
                do { try client.send(Self.requests("/", 1)) } catch { break }
                try await Task.sleep(for: .milliseconds(50))
            }
            while server.edge.counters.slowCloses.value == 0 { await Task.yield() }
        }
    }

    @Test("a client that reads again gets all its answers, in order")
    func readsLater() async throws {
        let numbers = TestDelegate.Behaviour(onRequest: { request, _, responder in
            let body = Array("\(request.path) \(String(repeating: "x", count: 8 * 1024))".utf8)
            responder.send(HTTPResponse(status: 200, body: body))
        })
        try await TestServer.run(numbers) { server in
            let client = try server.client(receiveBuffer: 4096)
            let all = (0..<1000).map { "GET /\($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined()
            try client.send(all)
            client.finishSending()
            for number in 0..<1000 { #expect(try client.response().body.hasPrefix("/\(number) ")) }
            #expect(try client.isClosed())
        }
    }

    @Test("a client that asks for much at once does not delay others")
    func fairTurns() async throws {
        let gate = Gate()
        let order = Mutex<[String]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            order.withLock { $0.append(request.path) }
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(behaviour) { server in
            let (greedy, modest) = (try server.client(), try server.client())
            #expect(try greedy.request("GET", "/first").status == 200 && modest.request("GET", "/first").status == 200)
            server.group.loops[0].execute { gate.wait() }
            try greedy.send(Self.requests("/greedy", 2000))
            try modest.send(Self.requests("/modest", 1))
            gate.open()
            #expect(try modest.response().status == 200)
            let before = order.withLock { $0.firstIndex(of: "/modest") } ?? .max
            #expect(before < 200)
            for _ in 0..<2000 { #expect(try greedy.response().status == 200) }
        }
    }

    @Test("the first ten pings and the last of a burst are answered")
    func pings() async throws {
        try await TestServer.run { server in
            let client = try server.connected()
            let gate = Gate()
            server.group.loops[0].execute { gate.wait() }
            for number in 0..<40 { try client.sendFrame("\(number)", opcode: 9) }
            gate.open()
            // What came after it in the same turn is answered behind it.
            var answers: [String?] = []
            while answers.last != "39" { answers.append(try client.receiveFrame()) }
            #expect(answers.prefix(10) == ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"])
            #expect(answers.count < 40)
        }
    }

    @Test("a few pings of a flood are answered each turn, and the flood uses almost no memory")
    func pingFlood() async throws {
        try await TestServer.run { server in
            let client = try server.webSocket(receiveBuffer: 4096)
            let (ping, count): ([UInt8], Int) = ([0x89, 0x80, 0, 0, 0, 0], 100_000)
            try client.send((0..<count).flatMap { _ in ping })
            #expect(server.edge.counters.bufferedBytes < 1 << 20)
            try client.sendFrame("last", opcode: 9)
            var answers = 1
            while try client.receiveFrame() != "last" { answers += 1 }
            #expect(answers < count / 4)
        }
    }
}

/// Blocks a loop until it is opened.
private final class Gate: Sendable {
    private let isOpen = Atomic<Bool>(false)

    func open() { isOpen.store(true, ordering: .releasing) }

    func wait() { while !isOpen.load(ordering: .acquiring) {} }
}
