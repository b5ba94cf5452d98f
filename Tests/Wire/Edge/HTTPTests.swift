import ParlorEdge
import ParlorHTTP
import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@Suite("HTTP at the edge", .timeLimit(.minutes(1)))
struct HTTPTests {
    /// Answers with the method and target, after `/slow` in another turn of the loop.
    private static let echo = TestDelegate.Behaviour(onRequest: { request, _, responder in
        let body = Array("\(request.method) \(request.target) \(request.body.count)".utf8)
        let response = HTTPResponse(status: 200, headers: ["Content-Type": "text/plain"], body: body)
        if request.path == "/dropped" { return }
        guard request.path == "/slow" else { return responder.send(response) }
        responder.loop.execute { responder.loop.execute { responder.send(response) } }
    })

    @Test("requests on one connection are answered in order, pipelined ones too")
    func pipelining() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            try client.send(
                ["/slow", "/b", "/slow", "/d"].map { "GET \($0) HTTP/1.1\r\nHost: x\r\n\r\n" }.joined())
            for path in ["/slow", "/b", "/slow", "/d"] {
                let response = try client.response()
                #expect(response.status == 200 && response.body == "GET \(path) 0")
            }
            #expect(server.edge.counters.requests.value == 4 && server.edge.counters.connections.value == 1)
        }
    }

    @Test("a client that sends Connection: close gets it back, and is disconnected")
    func closing() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            let response = try client.request("GET", "/", headers: ["Connection: close"])
            #expect(response.header("Connection") == "close")
            #expect(try client.isClosed())
        }
    }

    @Test("HEAD has the length and no body")
    func head() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            #expect(try client.request("HEAD", "/a").header("Content-Length") == "9")
            #expect(try client.request("GET", "/a").body == "GET /a 0")
        }
    }

    @Test("a client that expects 100-continue is asked for the announced body")
    func continues() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            try client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try client.response().status == 100)
            try client.send("abc")
            #expect(try client.response().body == "POST / 3")
        }
    }

    @Test("a body that is too large is refused, and the connection goes on")
    func tooLarge() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.http.maxBodyBytes = 10 }, Self.echo) { server in
            let client = try server.client()
            #expect(try client.request("POST", "/", body: "01234567890").status == 413)
            #expect(try client.request("POST", "/", body: "0123456789").body == "POST / 10")
        }
    }

    @Test("input that is not HTTP is refused, and the connection is closed")
    func malformed() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            try client.send("GET / HTTP/1.1\nHost: x\n\n")
            #expect(try client.response().status == 400)
            #expect(try client.isClosed())
        }
    }

    @Test("a request that is never answered gets 500, and the next one is served")
    func dropped() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            #expect(try client.request("GET", "/dropped").status == 500)
            #expect(try client.request("GET", "/a").status == 200)
        }
    }

    @Test("a client that has shut down its output still gets its answers")
    func halfClosed() async throws {
        try await TestServer.run(Self.echo) { server in
            let client = try server.client()
            try client.send("GET /slow HTTP/1.1\r\nHost: x\r\n\r\nGET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
            client.finishSending()
            #expect(try client.response().status == 200 && client.response().status == 200)
            #expect(try client.isClosed())
        }
    }

    @Test("the request id is the caller's if it is valid")
    func requestID() async throws {
        let behaviour = TestDelegate.Behaviour(onRequest: { _, _, responder in
            responder.send(HTTPResponse(status: 200, body: Array(responder.requestID.utf8)))
        })
        try await TestServer.run(behaviour) { server in
            let client = try server.client()
            let given = try client.request("GET", "/", headers: ["X-Request-Id: a.B_c-1"])
            #expect(given.header("X-Request-Id") == "a.B_c-1" && given.body == "a.B_c-1")
            for insane in ["", "a b", "a\"b", String(repeating: "x", count: 129)] {
                let response = try client.request("GET", "/", headers: ["X-Request-Id: \(insane)"])
                #expect(response.header("X-Request-Id") != insane && response.body == response.header("X-Request-Id"))
                #expect(!response.body.isEmpty)
            }
        }
    }

    @Test(
        "a request that takes too long is answered 408",
        arguments: ["GET / HTTP/1.1\r\nHos", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"])
    func slowRequest(start: String) async throws {
        let short = EdgeConfiguration.socketIO().with {
            $0.headTimeout = .seconds(1)
            $0.bodyTimeout = .seconds(1)
        }
        try await TestServer.run(configuration: short, Self.echo) { server in
            let client = try server.client()
            try client.send(start)
            #expect(try client.response().status == 408)
            #expect(try client.isClosed())
        }
    }

    @Test("an idle connection is closed without an answer")
    func idle() async throws {
        try await TestServer.run(configuration: .socketIO().with { $0.headTimeout = .milliseconds(50) }, Self.echo) {
            server throws in
            #expect(try server.client().isClosed())
        }
        try await TestServer.run(configuration: .socketIO().with { $0.idleTimeout = .milliseconds(50) }, Self.echo) {
            server in
            let client = try server.client()
            #expect(try client.request("GET", "/").status == 200)
            #expect(try client.isClosed())
        }
    }

    @Test("a client that does not read its answer is disconnected")
    func slowReader() async throws {
        let large = TestDelegate.Behaviour(onRequest: { _, _, responder in
            responder.send(HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 16 << 20)))
        })
        try await TestServer.run(configuration: .socketIO().with { $0.writeTimeout = .milliseconds(100) }, large) {
            server in
            let client = try server.client(receiveBuffer: 4096)
            try client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while server.edge.counters.slowCloses.value == 0 { await Task.yield() }
            while server.edge.counters.connections.value != 0 { await Task.yield() }
        }
    }

    @Test("draining lets open requests finish, then closes")
    func drain() async throws {
        let held = Mutex<HTTPResponder?>(nil)
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/held" { return held.withLock { $0 = responder } }
            responder.send(HTTPResponse(status: 200))
        })
        try await TestServer.run(behaviour) { server in
            let (busy, idle, silent, begun) = (
                try server.client(), try server.client(), try server.client(), try server.client()
            )
            #expect(try idle.request("GET", "/").header("Connection") == "keep-alive")
            #expect(try begun.request("GET", "/").status == 200)
            try begun.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
            #expect(try begun.response().status == 100)
            try busy.send("GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
            while held.withLock({ $0 == nil }) { await Task.yield() }

            async let drained: Void = server.edge.drain(within: .seconds(10))
            #expect(try idle.isClosed() && silent.isClosed())
            try begun.send("abc")
            let responder = held.withLock { $0.take() }
            responder?.loop.execute { responder?.send(HTTPResponse(status: 200)) }
            for client in [begun, busy] {
                let response = try client.response()
                #expect(response.status == 200 && response.header("Connection") == "close")
                #expect(try client.isClosed())
            }
            await drained
            #expect(throws: WireError.refused) { try server.client() }
        }
    }
}
