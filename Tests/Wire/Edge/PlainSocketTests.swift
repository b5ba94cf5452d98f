import ParlorEdge
import ParlorSocketIO
import Testing

/// The conformance server's parts, on the connections that production has.
@Suite("Sockets without Socket.IO", .timeLimit(.minutes(1)))
struct PlainSocketTests {
    @Test("a request becomes a plain WebSocket; one that is not a handshake is refused")
    func plainWebSocket() async throws {
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            responder.openWebSocket(for: request, maxMessageBytes: 10) { $0.send($1, isBinary: $2) }
        })
        try await TestServer.run(behaviour) { server in
            #expect(try server.client().request("GET", "/plain").status == 426)
            let client = try server.client()
            #expect(try client.openWebSocket("/plain").status == 101)
            for message in ["a", "b"] { try client.sendFrame(message) }
            #expect(try client.receiveFrame() == "a" && client.receiveFrame() == "b")
            #expect(server.edge.counters.sockets.value == 0)
            try client.sendFrame("more than ten bytes")
            #expect(try client.receiveFrame() == "close 1009" && client.isClosed())
        }
    }

    @Test("an endpoint may take Engine.IO messages as they are, without waiting for CONNECT")
    func engineAlone() async throws {
        var endpoint = EdgeEndpoint(
            path: "/engine.io/",
            .engineIO(EngineConfiguration()) { $0.send(OutgoingPacket(.message, $1.payload)) })
        endpoint.connectTimeout = .zero
        try await TestServer.run(configuration: EdgeConfiguration(endpoints: [endpoint])) { server in
            let client = try server.client()
            #expect(try client.openWebSocket("/engine.io/?EIO=4&transport=websocket").status == 101)
            #expect(try client.receiveFrame()?.hasPrefix("0{") == true)
            #expect(server.edge.counters.unconnectedSockets == 0)
            try client.sendFrame("4hello")
            #expect(try client.receiveFrame() == "4hello")
            try client.sendFrame("1")
            #expect(await server.next() == .closed(.engine(.closedByClient)))
        }
    }
}
