import ParlorEdge
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Testing

@Suite("Sockets at the edge", .timeLimit(.minutes(1)))
struct SocketTests {
    private static let lenient = EdgeConfiguration.socketIO(
        SocketIOConfiguration(unexpectedPackets: .ignore, acceptsAttachments: false))
    private static let unauthorized = JSONWriter.object { $0.member("message", "unauthorized") }

    @Test("the delegate gets the handshake with each token that it has")
    func handshake() async throws {
        try await TestServer.run { server in
            let client = try server.webSocket(query: "&token=q", headers: ["Authorization: Bearer h"])
            try client.sendFrame(#"40{"token":"p"}"#)
            #expect(
                await server.next()
                    == .asked(namespace: "/", auth: #"{"token":"p"}"#, query: "q", authorization: "Bearer h"))
            #expect(try client.receiveFrame()?.hasPrefix(#"40{"sid":""#) == true)
            #expect(server.edge.counters.sockets.value == 1 && server.edge.counters.webSockets.value == 1)
            try client.sendFrame("41")
            #expect(await server.next() == .left("/"))
            try client.sendFrame("1")
            #expect(await server.next() == .closed(.engine(.closedByClient)))
            #expect(try client.receiveFrame() == "close 1000" && client.isClosed())

            let other = try server.webSocket(headers: ["Authorization: Bearer h"])
            try other.sendFrame("40")
            #expect(await server.next() == .asked(namespace: "/", auth: nil, query: nil, authorization: "Bearer h"))
        }
    }

    @Test("events that arrive while CONNECT is checked follow its answer, in order")
    func queued() async throws {
        let asked = Arrivals<Socket>()
        let behaviour = TestDelegate.Behaviour(onConnect: { socket, _ in asked.add(socket) })
        try await TestServer.run(behaviour) { server in
            let client = try server.webSocket()
            for packet in ["40", "421[\"a\"]", "422[\"b\"]"] { try client.sendFrame(packet) }
            _ = await server.next()
            let socket = try await asked.next()
            socket.loop.execute { socket.accept() }
            #expect(await server.next() == .event("a", [], ack: 1))
            #expect(await server.next() == .event("b", [], ack: 2))
            #expect(try client.receiveFrame()?.hasPrefix("40{") == true)
            #expect(try client.receiveFrame() == "431[]" && client.receiveFrame() == "432[]")
        }
    }

    @Test("a refused client can try again; what it sent meanwhile is dropped")
    func refused() async throws {
        let behaviour = TestDelegate.Behaviour(onConnect: { socket, auth in
            if auth == nil { socket.refuse("/", Self.unauthorized) } else { socket.accept() }
        })
        try await TestServer.run(configuration: Self.lenient, behaviour) { server in
            let client = try server.webSocket()
            for packet in ["40", "421[\"lost\"]", "40{}", "422[\"kept\"]"] { try client.sendFrame(packet) }
            #expect(try client.receiveFrame() == #"44{"message":"unauthorized"}"#)
            #expect(try client.receiveFrame()?.hasPrefix("40{") == true)
            #expect(try client.receiveFrame() == "432[]")
        }
    }

    @Test("attachments are refused with an error")
    func attachments() async throws {
        try await TestServer.run(configuration: Self.lenient) { server in
            let client = try server.connected()
            try client.sendFrame(#"451-5["up",{"_placeholder":true,"num":0}]"#)
            try client.sendFrame("bytes", opcode: 2)
            #expect(try client.receiveFrame() == "435[false]")
            try client.sendFrame("426[\"on\"]")
            #expect(try client.receiveFrame() == "436[]")
        }
    }

    @Test("a missing version can be accepted, another one cannot")
    func version() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.endpoints[0].takesMissingVersion = true }) {
            server in
            let client = try server.client()
            #expect(try client.request("GET", "/socket.io/?transport=polling").status == 200)
            #expect(try client.request("GET", "/socket.io?transport=polling").status == 200)
            for version in ["3", "5", "", "four", "4.0"] {
                let refused = try client.request("GET", "/socket.io/?EIO=\(version)&transport=polling")
                #expect(refused.status == 400 && refused.body.hasPrefix(#"{"code":5,"#))
            }
            #expect(try server.client().openWebSocket("/socket.io/?transport=websocket").status == 101)
        }
    }

    @Test("a client that never connects is closed")
    func connectTimeout() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.endpoints[0].connectTimeout = .milliseconds(50) })
        { server in
            let client = try server.webSocket()
            #expect(await server.next() == .closed(.connectTimeout))
            #expect(try client.receiveFrame() == "close 1000" && client.isClosed())
        }
    }

    @Test("a polling handshake names its session for load balancers; no other answer does")
    func sessionHeader() async throws {
        try await TestServer.run { server in
            let client = try server.client()
            let opened = try client.request("GET", "/socket.io/?EIO=4&transport=polling")
            let sid = try #require(opened.header("Engine-Session"))
            #expect(opened.body.hasPrefix(#"0{"sid":"\#(sid)","#))
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(sid)"
            let connected = try client.request("POST", target, body: "40")
            #expect(connected.status == 200 && connected.header("Engine-Session") == nil)
            let refused = try client.request("GET", "/socket.io/?EIO=3&transport=polling")
            #expect(refused.status == 400 && refused.header("Engine-Session") == nil)
        }
    }

    @Test("a session's requests find it on any loop")
    func moves() async throws {
        try await TestServer.run(loops: 4) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            #expect(try server.client().request("POST", target, body: "40").body == "ok")
            #expect(try server.client().request("GET", target).body.hasPrefix("40{"))
            for number in 0..<40 {
                // A connection of its own for each, with a second request behind the one that makes it move.
                let client = try server.client()
                #expect(try client.request("POST", target, body: "42\(number)[\"e\",\(number)]").body == "ok")
                #expect(try client.request("GET", target).body == "43\(number)[\(number)]")
            }
            #expect(server.edge.counters.moves.value > 0)
        }
    }

    @Test("pipelined requests move to the session's loop, too")
    func movesPipelined() async throws {
        try await TestServer.run(loops: 4) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            for number in 0..<40 {
                let client = try server.client()
                let body = number == 0 ? "40" : "42\(number)[\"e\"]"
                try client.send(
                    "POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                        + "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\nGET /other HTTP/1.1\r\nHost: x\r\n\r\n")
                #expect(try client.response().body == "ok")
                #expect(try client.response().body.hasPrefix(number == 0 ? "40{" : "43\(number)[]"))
                #expect(try client.response().status == 404)
            }
            #expect(server.edge.counters.moves.value > 0)
        }
    }

    @Test("an upgrade finds its session on any loop")
    func movesUpgrade() async throws {
        try await TestServer.run(loops: 4) { server in
            var clients: [RawClient] = []
            for _ in 0..<20 {
                let sid = try server.polling()
                let client = try server.client()
                #expect(try client.openWebSocket("/socket.io/?EIO=4&transport=websocket&sid=\(sid)").status == 101)
                try client.sendFrame("2probe")
                #expect(try client.receiveFrame() == "3probe")
                try client.sendFrame("5")
                try client.sendFrame("40")
                #expect(try client.receiveFrame()?.hasPrefix("40{") == true)
                clients.append(client)
            }
            #expect(server.edge.counters.moves.value > 0 && clients.count == 20)
            #expect(server.edge.counters.sockets.value == 20 && server.edge.counters.webSockets.value == 20)
        }
    }

    // MARK: Slow readers

    /// Answers each event with as many bytes as its argument says, and acks it.
    private static let flood = TestDelegate.Behaviour(onEvent: { socket, event in
        let packet = OutgoingPacket.event("flood", [JSONValue(String(repeating: "x", count: 64 * 1024))])
        for _ in 0..<(event.arguments.first?.int ?? 0) { socket.send(packet, droppable: event.name == "droppable") }
        if let id = event.ackID { socket.send(.ack(id, [JSONValue(socket.unsentCost)])) }
    })

    @Test("a client with too much unsent output is disconnected; the others are not")
    func slowReader() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.maxUnsentBytes = 1 << 20 }, Self.flood) {
            server in
            let (slow, other) = (try server.connected(receiveBuffer: 4096), try server.connected())
            try slow.sendFrame("42[\"must\",1000]")
            let closed = await server.first { if case .closed = $0 { true } else { false } }
            #expect(closed == .closed(.slowReader))
            #expect(server.edge.counters.slowCloses.value == 1)
            try other.sendFrame("421[\"none\"]")
            #expect(try other.receiveFrame() == "431[0]")
        }
    }

    @Test("a client that reads nothing for too long is disconnected")
    func stalled() async throws {
        let limits = EdgeConfiguration.socketIO().with {
            $0.maxUnsentBytes = 1 << 30
            $0.writeTimeout = .milliseconds(100)
        }
        try await TestServer.run(configuration: limits, Self.flood) { server in
            let slow = try server.connected(receiveBuffer: 4096)
            try slow.sendFrame("42[\"must\",1000]")
            let closed = await server.first { if case .closed = $0 { true } else { false } }
            #expect(closed == .closed(.slowReader) && server.edge.counters.slowCloses.value == 1)
        }
    }

    @Test("volatile packets are dropped when a client is behind")
    func droppable() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.maxUnsentBytes = 1 << 20 }, Self.flood) {
            server in
            let client = try server.connected(receiveBuffer: 4096)
            try client.sendFrame("421[\"droppable\",1000]")
            var floods = 0
            var last = try client.receiveFrame()
            while last?.hasPrefix("42[") == true {
                floods += 1
                last = try client.receiveFrame()
            }
            #expect(last?.hasPrefix("431[") == true && floods < 20)
            #expect(server.edge.counters.dropped.value == 1000 - floods && server.edge.counters.slowCloses.value == 0)
        }
    }

    @Test(
        "a client that reads gets the answers to a burst of its own, more than may wait for it",
        arguments: [true, false])
    func burst(isPolling: Bool) async throws {
        let text = String(repeating: "x", count: 150_000)
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, _ in
            // As services answer a batch: all in one turn.
            for _ in 1...100 { socket.emit("echo", JSONValue(text)) }
        })
        try await TestServer.run(configuration: .socketIO().with { $0.maxUnsentBytes = 1 << 20 }, behaviour) {
            server in
            var answers = 0
            if isPolling {
                let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
                let client = try server.client()
                #expect(try client.request("POST", target, body: "40").status == 200)
                #expect(try client.request("GET", target).status == 200)
                #expect(try client.request("POST", target, body: "42[\"many\"]").status == 200)
                while answers < 100 {
                    answers += try client.request("GET", target).body.split(separator: "\u{1e}").count
                }
            } else {
                let client = try server.connected()
                try client.sendFrame("42[\"many\"]")
                while answers < 100, try client.receiveFrame()?.hasPrefix("42[\"echo\"") == true { answers += 1 }
            }
            #expect(answers == 100 && server.edge.counters.slowCloses.value == 0)
        }
    }

    @Test("a client that polls too slowly is disconnected as well")
    func slowPoller() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.maxUnsentBytes = 1 << 20 }, Self.flood) {
            server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let client = try server.client()
            #expect(try client.request("POST", target, body: "40").status == 200)
            #expect(try client.request("POST", target, body: "42[\"must\",1000]").status == 200)
            let closed = await server.first { if case .closed = $0 { true } else { false } }
            #expect(closed == .closed(.slowReader))
            #expect(try client.request("GET", target).status == 400)
        }
    }

    @Test(
        "a batch is sent as its packets, in order, by WebSocket and by polling, and disconnects slow clients"
    )
    func batches() async throws {
        let batch = OutgoingBatch((0..<3).map { .event("told", [JSONValue($0)]) })
        let expected = (0..<3).map { "42[\"told\",\($0)]" }
        let large = OutgoingBatch(
            (0..<36).map { _ in .event("large", [JSONValue(String(repeating: "x", count: 700_000))]) })
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, event in
            socket.send(event.name == "large" ? large : batch)
        })
        try await TestServer.run(configuration: .socketIO().with { $0.maxUnsentBytes = 1 << 20 }, behaviour) {
            server in
            let webSocket = try server.connected()
            try webSocket.sendFrame("42[\"tell\"]")
            for packet in expected { #expect(try webSocket.receiveFrame() == packet) }

            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            let polling = try server.client()
            #expect(try polling.request("POST", target, body: "40").status == 200)
            #expect(try polling.request("GET", target).status == 200)
            #expect(try polling.request("POST", target, body: "42[\"tell\"]").status == 200)
            let answer = try polling.request("GET", target)
            #expect(answer.body == expected.joined(separator: "\u{1e}"))

            try webSocket.sendFrame("42[\"large\"]")
            let closed = await server.first { if case .closed = $0 { true } else { false } }
            #expect(closed == .closed(.slowReader))
        }
    }
}
