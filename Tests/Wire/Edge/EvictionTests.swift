import ParlorHTTP
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Testing

@testable import ParlorEdge

/// The kernel picks the loop of each new connection here. Clients move to loop 0 by naming a session there.
@Suite("Evictions on a server with two loops", .timeLimit(.minutes(1)))
struct EvictionTests {
    private static let handshake = "/socket.io/?EIO=4&transport=polling"
    private static let onLoop0 = handshake + "&sid=0.x"

    /// Returns a client that waits on loop 0, with an answered request.
    private static func waiting(on server: TestServer) throws -> RawClient {
        let client = try server.client()
        #expect(try client.request("GET", onLoop0).status == 400)
        return client
    }

    @Test("newcomers get in on each loop while the connections that wait are all on one")
    func connectionsOnOneLoop() async throws {
        let limits = EdgeConfiguration.limited { $0.connections = .init(total: 16, perAddress: nil) }
        try await TestServer.run(loops: 2, configuration: limits) { server in
            let idle = try (0..<16).map { _ in try Self.waiting(on: server) }
            var newcomers: [RawClient] = []
            for _ in 0..<8 {
                let newcomer = try server.client()
                #expect(try newcomer.request("GET", "/").status == 404)
                newcomers.append(newcomer)
            }
            // They replaced those that have waited longest, and none of each other.
            for newcomer in newcomers { #expect(try newcomer.request("GET", "/").status == 404) }
            for client in idle.prefix(4) { #expect(try client.isClosed()) }
            #expect(await server.settles { $0.connections.value == 16 })
        }
    }

    @Test("new sockets open on each loop while those that have not connected are all on one")
    func socketsOnOneLoop() async throws {
        let limits = EdgeConfiguration.limited { $0.unconnectedSockets = .init(total: 16, perAddress: nil) }
        try await TestServer.run(loops: 2, configuration: limits) { server in
            for _ in 0..<16 {
                let client = try Self.waiting(on: server)
                #expect(try client.request("GET", Self.handshake).status == 200)
            }
            let newcomers = try (0..<8).map { _ in try server.webSocket() }
            for newcomer in newcomers {
                try newcomer.sendFrame("40")
                #expect(try newcomer.receiveFrame()?.hasPrefix("40{") == true)
            }
            #expect(await server.settles { $0.unconnectedSockets <= 16 && $0.refusedSockets.total.value > 0 })
        }
    }

    @Test("the total stays within what may be pending if the clients to evict are gone meanwhile")
    func overshoot() throws {
        let usage = ClientUsage(EdgeLimits())
        for _ in 0..<10_000 { try usage.addConnection(of: nil) }
        for _ in 0..<Evictions.maxPending { try usage.addConnection(of: nil, beyond: Evictions.maxPending) }
        #expect(throws: ClientUsage.Excess.total) { try usage.addConnection(of: nil, beyond: Evictions.maxPending) }
    }

    @Test("no socket ends for a new connection if its end frees none")
    func pollingSocketsStay() async throws {
        let limits = EdgeConfiguration.limited { $0.connections = .init(total: 2, perAddress: nil) }
        try await TestServer.run(configuration: limits) { server in
            _ = try server.polling()
            #expect(await server.settles { $0.connections.value == 0 })
            let connected = [try server.connected(), try server.connected()]
            #expect(try server.client().response().status == 503)
            #expect(server.edge.counters.unconnectedSockets == 1)
            _ = connected
        }
    }

    @Test("a WebSocket that has not connected ends for a new connection, however many sockets poll")
    func webSocketsGiveWay() async throws {
        let limits = EdgeConfiguration.limited { $0.connections = .init(total: 2, perAddress: nil) }
        try await TestServer.run(configuration: limits) { server in
            for _ in 0..<100 {
                _ = try server.polling()
                #expect(await server.settles { $0.connections.value == 0 })
            }
            let connected = try server.connected()
            let pending = try server.webSocket()
            #expect(try server.client().request("GET", "/").status == 404)
            #expect(try pending.isClosed())
            #expect(server.edge.counters.unconnectedSockets == 100)
            _ = connected
        }
    }

    @Test("a person who reads a long answer stays; a connection that came later and waits is evicted")
    func readersStay() async throws {
        let body = [UInt8](repeating: 0x61, count: 16 << 20)
        let behaviour = TestDelegate.Behaviour(onRequest: { _, _, responder in
            responder.send(HTTPResponse(status: 200, body: body))
        })
        let limits = EdgeConfiguration.limited { $0.connections = .init(total: 2, perAddress: nil) }
            .with { $0.maxUnsentBytes = 32 << 20 }
        try await TestServer.run(configuration: limits, behaviour) { server in
            let reader = try server.client(receiveBuffer: 4096)
            try reader.send("GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ada\r\n\r\n")
            #expect(await server.settles { $0.bufferedBytes > 1 << 20 })
            let idle = try server.client()
            #expect(await server.settles { $0.connections.value == 2 })
            let newcomer = try server.client()
            #expect(try idle.isClosed())
            #expect(try reader.response().body.utf8.count == body.count)
            // From then on it waits like any other, after the newcomer.
            await server.turns()
            let other = try server.client()
            #expect(try newcomer.isClosed())
            _ = other
        }
    }

    @Test("an address that has its share of connected sockets keeps others within its other connections")
    func connectedSockets() async throws {
        let limits = EdgeConfiguration.limited {
            $0.connections = .init(total: 100, perAddress: 2)
            $0.connectedSocketsPerAddress = 2
        }
        try await TestServer.run(configuration: limits) { server in
            var sockets = try (0..<4).map { _ in try server.connected() }
            #expect(try server.client().response().status == 429)
            _ = try server.connected(from: 2)
            for socket in sockets {
                try socket.sendFrame("421[\"e\"]")
                #expect(try socket.receiveFrame() == "431[]")
            }
            sockets.removeLast().close()
            #expect(await server.settles { $0.sockets.value == 3 })
            sockets.append(try server.connected())
            #expect(try server.client().response().status == 429)
        }
    }
}
