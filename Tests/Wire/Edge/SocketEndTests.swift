import ParlorEdge
import ParlorSocketIO
import Testing

@Suite("The end of a socket", .timeLimit(.minutes(1)))
struct SocketEndTests {
    @Test("only a client that must not come back is sent DISCONNECT")
    func closing() async throws {
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, event in
            if event.name == "leave" { socket.disconnect() } else { socket.closeTransport() }
            socket.emit("late")
        })
        try await TestServer.run(behaviour) { server in
            let leaves = try server.connected()
            try leaves.sendFrame("42[\"leave\"]")
            #expect(try leaves.receiveFrame() == "41" && leaves.receiveFrame() == "close 1000" && leaves.isClosed())
            let closes = try server.connected()
            try closes.sendFrame("42[\"close\"]")
            #expect(try closes.receiveFrame() == "close 1000" && closes.isClosed())
        }
    }

    @Test("a polling client is sent DISCONNECT at its next request, however long after its heartbeat")
    func leavingByPolling() async throws {
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, _ in socket.disconnect() })
        let engine = EngineConfiguration(pingInterval: .milliseconds(300), pingTimeout: .seconds(5))
        let configuration = EdgeConfiguration.socketIO(engine: engine)
        try await TestServer.run(configuration: configuration, behaviour) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let client = try server.client()
            #expect(try client.request("POST", target, body: "40").status == 200)
            // On a busy machine, a ping is before it.
            #expect(try client.request("GET", target).body.contains("40{"))
            #expect(try client.request("POST", target, body: "42[\"leave\"]").status == 200)
            // Another session's ping comes after the time at which this one's would have been due.
            let other = try server.webSocket()
            #expect(try other.receiveFrame() == "2")
            #expect(try client.request("GET", target).body.hasSuffix("41\u{1E}1"))
            #expect(try client.request("GET", target).status == 400)
        }
    }

    @Test("the application learns at once, and once, that a polling client is disconnected")
    func leavingByPollingIsTold() async throws {
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, _ in socket.disconnect() })
        try await TestServer.run(behaviour) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let client = try server.client()
            #expect(try client.request("POST", target, body: "40").status == 200)
            #expect(try client.request("POST", target, body: "42[\"leave\"]").status == 200)
            func end() async -> DelegateCall? {
                await server.first {
                    switch $0 {
                    case .left, .closed: true
                    default: false
                    }
                }
            }
            #expect(await end() == .left("/"))
            #expect(try client.request("GET", target).body.hasSuffix("41\u{1E}1"))
            #expect(await end() == .closed(.engine(.closedByServer)))

            let webSocket = try server.connected()
            try webSocket.sendFrame("42[\"leave\"]")
            #expect(await end() == .closed(.engine(.closedByServer)))
        }
    }

    @Test("a packet that ends the session leaves no timer behind, whatever follows it in the same body")
    func endAmidBody() async throws {
        let engine = EngineConfiguration(pingInterval: .milliseconds(300), pingTimeout: .seconds(5))
        let configuration = EdgeConfiguration.socketIO(engine: engine)
        try await TestServer.run(configuration: configuration) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let client = try server.client()
            // A packet of an unknown type, then a pong, which restarts the heartbeat.
            #expect(try client.request("POST", target, body: "4garbage\u{1E}3").status == 200)
            #expect(try client.request("GET", target).status == 400)
            // Another session's ping comes after the time at which this one's would have been due.
            let other = try server.webSocket()
            #expect(try other.receiveFrame() == "2")
        }
    }

    @Test(
        "packets before a close packet in the same body are delivered, and none after the application has closed")
    func messagesBeforeClose() async throws {
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, event in
            if event.name == "end" { socket.closeTransport() }
        })
        try await TestServer.run(behaviour) { server in
            func post(_ packets: String...) async throws {
                let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
                let body = packets.joined(separator: "\u{1E}")
                #expect(try server.client().request("POST", target, body: body).body == "ok")
                _ = await server.next()
            }
            try await post("40", "421[\"a\"]", "42[\"b\"]", "1", "42[\"late\"]")
            #expect(await server.next() == .event("a", [], ack: 1))
            #expect(await server.next() == .event("b", [], ack: nil))
            #expect(await server.next() == .closed(.engine(.closedByClient)))
            try await post("40", "42[\"end\"]", "42[\"late\"]", "1")
            #expect(await server.next() == .event("end", [], ack: nil))
            let closed = await server.next()
            guard case .closed = closed else {
                Issue.record("\(String(describing: closed)) came after the end")
                return
            }
            #expect(server.edge.counters.sockets.value == 0)
        }
    }

    @Test("draining closes WebSockets, and answers held polls")
    func drain() async throws {
        try await TestServer.run { server in
            let webSocket = try server.connected()
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let poller = try server.client()
            // Behind a POST on the same connection the GET is held for sure, once that is answered.
            try poller.send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try server.client().request("POST", target, body: "6").body == "ok")
            await server.edge.drain(within: .seconds(10))
            #expect(try webSocket.receiveFrame() == "close 1001" && webSocket.isClosed())
            let released = try poller.response()
            #expect(released.status == 200 && released.body == "6" && released.header("Connection") == "close")
            var reasons: [DelegateCall] = []
            for _ in 0..<2 {
                if let events = await server.first(where: { if case .closed = $0 { true } else { false } }) {
                    reasons.append(events)
                }
            }
            #expect(reasons == [.closed(.draining), .closed(.draining)])
            #expect(server.edge.counters.sockets.value == 0 && server.edge.counters.connections.value == 0)
        }
    }
}
