import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorEdge

@Suite("Limits per client", .timeLimit(.minutes(1)))
struct ClientLimitsTests {
    // MARK: Connections

    @Test("a newcomer to a full server evicts the connection that has waited longest")
    func evictsOldest() async throws {
        try await TestServer.run(configuration: .limited { $0.connections = .init(total: 3, perAddress: nil) }) {
            server in
            let halfOpen = try server.client()
            try halfOpen.send("GET / HT")
            let second = try server.client()
            #expect(try second.request("GET", "/").status == 404)
            let third = try server.client()
            #expect(try third.request("GET", "/").status == 404)
            let newcomer = try server.client()
            #expect(try newcomer.request("GET", "/").status == 404)
            #expect(try halfOpen.isClosed())
            #expect(try second.request("GET", "/").status == 404)
            #expect(server.edge.counters.refusedConnections.total.value == 1)
        }
    }

    @Test("connections that are being answered, or have connected, stay; the newcomer is refused")
    func keepsBusy() async throws {
        let held = Mutex<HTTPResponder?>(nil)
        let behaviour = TestDelegate.Behaviour(onRequest: { _, _, responder in held.withLock { $0 = responder } })
        try await TestServer.run(
            configuration: .limited { $0.connections = .init(total: 2, perAddress: nil) }, behaviour
        ) { server in
            let connected = try server.connected()
            let busy = try server.client()
            try busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while held.withLock({ $0 == nil }) { await Task.yield() }
            let newcomer = try server.client()
            let refusal = try newcomer.response()
            #expect(refusal.status == 503 && refusal.header("Retry-After") != nil)
            #expect(refusal.header("X-Request-Id") != nil)
            #expect(try newcomer.isClosed())
            let responder = held.withLock { $0.take() }
            responder?.loop.execute { responder?.send(HTTPResponse(status: 200)) }
            #expect(try busy.response().status == 200)
            try connected.sendFrame("421[\"e\"]")
            #expect(try connected.receiveFrame() == "431[]")
        }
    }

    @Test("an address that reaches its share of connections is refused; others are not")
    func connectionsOfAddress() async throws {
        try await TestServer.run(configuration: .limited { $0.connections = .init(total: 100, perAddress: 2) }) {
            server in
            let (first, second) = (try server.client(), try server.client())
            #expect(try first.request("GET", "/").status == 404 && second.request("GET", "/").status == 404)
            let refusal = try server.client().response()
            #expect(refusal.status == 429 && refusal.header("Retry-After") != nil)
            #expect(try server.client(from: 2).request("GET", "/").status == 404)
            #expect(server.edge.counters.refusedConnections.perAddress.value == 1)
            first.close()
            while server.edge.counters.connections.value > 1 { await Task.yield() }
            #expect(try server.client().request("GET", "/").status == 404)
        }
    }

    @Test("sockets that have connected do not count against their address")
    func connectedAreFree() async throws {
        try await TestServer.run(configuration: .limited { $0.connections = .init(total: 100, perAddress: 2) }) {
            server in
            var connected: [RawClient] = []
            for _ in 0..<5 { connected.append(try server.connected()) }
            let (first, second) = (try server.client(), try server.client())
            #expect(try first.request("GET", "/").status == 404 && second.request("GET", "/").status == 404)
            #expect(try server.client().response().status == 429)
        }
    }

    @Test("connections through a trusted proxy count for the client's address")
    func proxies() async throws {
        let configuration = EdgeConfiguration.limited {
            $0.connections = .init(total: 100, perAddress: 2)
            $0.unconnectedSockets = .init(total: 100, perAddress: 1)
        }.with { $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap(\.self) }
        try await TestServer.run(configuration: configuration) { server in
            var clients: [RawClient] = []
            for _ in 0..<5 { clients.append(try server.client()) }
            for client in clients { #expect(try client.request("GET", "/").status == 404) }
            let upgrade = "/socket.io/?EIO=4&transport=websocket"
            let one = ["X-Forwarded-For: 192.0.2.1"]
            #expect(try clients[0].openWebSocket(upgrade, headers: one).status == 101)
            #expect(try clients[1].openWebSocket(upgrade, headers: one).status == 429)
            #expect(try clients[2].openWebSocket(upgrade, headers: ["X-Forwarded-For: 192.0.2.2"]).status == 101)
        }
    }

    @Test("an IPv6 subscriber's addresses count as one, an IPv4 address as itself")
    func subscribers() throws {
        func subscriber(_ text: String) -> IPAddress? { IPAddress(text)?.subscriber }
        #expect(subscriber("2001:db8:1:2::1") == subscriber("2001:db8:1:2:ffff::9"))
        #expect(subscriber("2001:db8:1:2::1") != subscriber("2001:db8:1:3::1"))
        #expect(subscriber("192.0.2.1") != subscriber("192.0.2.2"))
        #expect(subscriber("::ffff:192.0.2.1") == subscriber("192.0.2.1"))
    }

    // MARK: Sockets

    @Test("an address that reaches its share of unconnected sockets is refused", arguments: ["websocket", "polling"])
    func unconnectedSockets(transport: String) async throws {
        try await TestServer.run(
            configuration: .limited { $0.unconnectedSockets = .init(total: 100, perAddress: 2) }
        ) {
            server in
            func handshake(from host: UInt8) throws -> (RawClient, Int) {
                let (client, target) = (
                    try server.client(from: host), "/socket.io/?EIO=4&transport=\(transport)"
                )
                return (
                    client,
                    transport == "websocket"
                        ? try client.openWebSocket(target).status : try client.request("GET", target).status
                )
            }
            let first = try handshake(from: 1)
            let second = try handshake(from: 1)
            #expect(first.1 < 300 && second.1 < 300)
            #expect(try handshake(from: 1).1 == 429)
            let other = try handshake(from: 2)
            #expect(other.1 < 300)
            #expect(server.edge.counters.unconnectedSockets == 3)
            other.0.close()
            #expect(server.edge.counters.refusedSockets.perAddress.value == 1)
            guard transport == "websocket" else { return }
            _ = try first.0.receiveFrame()
            try first.0.sendFrame("40")
            #expect(try first.0.receiveFrame()?.hasPrefix("40{") == true)
            #expect(try handshake(from: 1).1 == 101)
            second.0.close()
        }
    }

    @Test("a new socket evicts the longest-waiting unconnected one when there are too many in all")
    func evictsUnconnected() async throws {
        try await TestServer.run(
            configuration: .limited { $0.unconnectedSockets = .init(total: 2, perAddress: nil) }
        ) {
            server in
            let oldest = try server.webSocket()
            let connected = try server.connected()
            let other = try server.webSocket()
            let newcomer = try server.webSocket()
            #expect(try oldest.isClosed())
            for client in [other, newcomer] {
                try client.sendFrame("40")
                #expect(try client.receiveFrame()?.hasPrefix("40{") == true)
            }
            try connected.sendFrame("421[\"e\"]")
            #expect(try connected.receiveFrame() == "431[]")
            #expect(server.edge.counters.unconnectedSockets == 0)
        }
    }

    @Test("a socket that leaves its namespace has to connect again, or is closed")
    func leavesNamespace() async throws {
        try await TestServer.run(
            configuration: .socketIO().with { $0.endpoints[0].connectTimeout = .seconds(3) }
        ) { server in
            let returns = try server.connected()
            let leaves = try server.connected()
            try returns.sendFrame("41")
            try leaves.sendFrame("41")
            try returns.sendFrame("40")
            #expect(try returns.receiveFrame()?.hasPrefix("40{") == true)
            #expect(try leaves.receiveFrame() == "close 1000")
            #expect(
                await server.first { if case .closed = $0 { true } else { false } } == .closed(.connectTimeout))
            try returns.sendFrame("421[\"e\"]")
            #expect(try returns.receiveFrame() == "431[]")
            #expect(server.edge.counters.unconnectedSockets == 0 && server.edge.counters.sockets.value == 1)
        }
    }

    @Test("sockets that leave their namespace cannot exceed a limit: those over it are closed")
    func leavingInBulk() async throws {
        let limits = EdgeConfiguration.limited {
            $0.unconnectedSockets = .init(total: 100, perAddress: 2)
            $0.connections = .init(total: 100, perAddress: 3)
        }
        try await TestServer.run(configuration: limits) { server in
            var sockets: [RawClient] = []
            for _ in 0..<5 { sockets.append(try server.connected()) }
            for socket in sockets { try socket.sendFrame("41") }
            for _ in 0..<5 { _ = await server.first { if case .left = $0 { true } else { false } } }
            await server.turns()
            #expect(server.edge.counters.unconnectedSockets == 2 && server.edge.counters.connections.value == 2)
            #expect(server.edge.counters.refusedSockets.perAddress.value == 3)
            try sockets[0].sendFrame("40")
            #expect(try sockets[0].receiveFrame()?.hasPrefix("40{") == true)
        }
    }

    @Test("an address behind a proxy is refused over its share of connections that become WebSockets, too")
    func upgradesThroughProxy() async throws {
        let limits = EdgeConfiguration.limited { $0.connections = .init(total: 100, perAddress: 2) }
            .with { $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap(\.self) }
        try await TestServer.run(configuration: limits) { server in
            var clients: [RawClient] = []
            for (host, status) in [(1, 101), (1, 101), (1, 429), (2, 101)] {
                let client = try server.client()
                let response = try client.openWebSocket(
                    "/socket.io/?EIO=4&transport=websocket", headers: ["X-Forwarded-For: 192.0.2.\(host)"])
                #expect(response.status == status)
                clients.append(client)
            }
            #expect(server.edge.counters.unconnectedSockets == 3)
        }
    }

    @Test("an unconnected client may send only a few messages, and none that is large")
    func beforeConnect() async throws {
        let limits = EdgeConfiguration.limited {
            $0.maxUnconnectedMessages = 5
            $0.maxUnconnectedMessageBytes = 1000
        }
        try await TestServer.run(configuration: limits) { server in
            let many = try server.webSocket()
            for _ in 0..<6 { try many.sendFrame("42[\"e\"]") }
            #expect(try many.receiveFrame()?.hasPrefix("close 1") == true)
            let large = try server.webSocket()
            try large.sendFrame("42[\"\(String(repeating: "x", count: 1000))\"]")
            #expect(try large.receiveFrame() == "close 1009")
            let connected = try server.connected()
            for _ in 0..<20 { try connected.sendFrame("42[\"\(String(repeating: "x", count: 2000))\"]") }
            try connected.sendFrame("421[\"e\"]")
            #expect(try connected.receiveFrame() == "431[]")

            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let body = "42[\"\(String(repeating: "x", count: 2000))\"]"
            let polling = try server.client()
            #expect(try polling.request("POST", target, body: body).status == 413)
            #expect(try polling.request("POST", target, body: "40").status == 200)
            #expect(try polling.request("POST", target, body: body).status == 200)
        }
    }

    @Test("limits are derived from the machine, and leave descriptors for everything but clients")
    func machine() {
        let large = EdgeLimits.fitting(descriptors: 1_048_576, memory: 64 << 30, loops: 2)
        #expect(large.connections.total > 1_000_000 && large.connections.perAddress == 1_000)
        #expect(large.bufferedBytes.total == 128 << 20)
        let container = EdgeLimits.fitting(descriptors: 1_048_576, memory: 512 << 20, loops: 2)
        #expect(container.connections.total == 13_107 && container.bufferedBytes.total == 128 << 20)
        #expect(container.connectedSocketsPerAddress == 13_107 / 4)
        // Connections, buffered bytes and the readers' excess fit into the memory with all else.
        let most = container.connections.total * EdgeLimits.connectionBytes + container.bufferedBytes.total / 2 * 3
        #expect(most < 512 << 20 - 32 << 20)
        let shell = EdgeLimits.fitting(descriptors: 1_024, memory: 24 << 30, loops: 2)
        #expect((512...900).contains(shell.connections.total))
        let tiny = EdgeLimits.fitting(descriptors: 64, memory: 1 << 20, loops: 8)
        #expect(tiny.connections.total >= 16 && (tiny.connections.perAddress ?? 0) > 0)
        let given = EdgeLimits.fitting(
            descriptors: 64, memory: 1 << 20, loops: 8, connections: 8_000, buffered: 400 << 20)
        #expect(given.connections.total == 8_000 && given.connections.perAddress == 1_000)
        #expect(given.unconnectedSockets.total == 4_000 && given.unconnectedSockets.perAddress == 500)
        #expect(given.connectedSocketsPerAddress == 2_000 && given.bufferedBytes.perAddress == 100 << 20)
    }
}
