import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorEdge

@Suite("Bytes, loop time and requests per client", .timeLimit(.minutes(1)))
struct ClientBytesTests {
    @Test("an address's buffered bytes are bounded, and small requests still pass")
    func bufferedBytes() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 1 << 20, perAddress: 200_000) }
        try await TestServer.run(configuration: limits) { server in
            func half(from host: UInt8) throws -> RawClient {
                let client = try server.client(from: host)
                try client.send(
                    "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: \(host)\r\nContent-Length: 200000\r\n\r\n"
                        + String(repeating: "x", count: 90_000))
                return client
            }
            let (first, second) = (try half(from: 1), try half(from: 1))
            while server.edge.counters.bufferedBytes < 180_000 { await Task.yield() }
            let third = try half(from: 1)
            let refusal = try third.response()
            #expect(refusal.status == 503 && refusal.header("Retry-After") != nil)
            #expect(try server.client().request("POST", "/", body: String(repeating: "x", count: 9000)).status == 404)
            let other = try half(from: 2)
            while server.edge.counters.bufferedBytes < 270_000 { await Task.yield() }
            for client in [first, second, third, other] { client.close() }
            while server.edge.counters.bufferedBytes > 0 { await Task.yield() }
            #expect(server.edge.counters.refusedBytes.perAddress.value == 1)
        }
    }

    @Test("unconnected clients may use half of the buffer; the rest is for connected ones")
    func reserveForConnected() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 200_000, perAddress: nil) }
        try await TestServer.run(configuration: limits) { server in
            let connected = try server.connected()
            let hold = try server.client(from: 2)
            try hold.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + String(repeating: "x", count: 90_000))
            while server.edge.counters.bufferedBytes < 80_000 { await Task.yield() }
            let refused = try server.client(from: 3)
            try refused.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + String(repeating: "x", count: 90_000))
            #expect(try refused.response().status == 503)
            // The first fragment of a message.
            let payload = [UInt8](repeating: UInt8(ascii: "4"), count: 60_000)
            try connected.send([0x01, 0x80 | 126, UInt8(60_000 >> 8), UInt8(60_000 & 0xFF), 0, 0, 0, 0] + payload)
            while server.edge.counters.bufferedBytes < 140_000 { await Task.yield() }
            hold.close()
            connected.close()
            while server.edge.counters.bufferedBytes > 0 { await Task.yield() }
        }
    }

    @Test("anonymous clients of an address may use an eighth of its share, signed-in clients the rest")
    func strangersOfAddress() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 4 << 20, perAddress: 400_000) }
        try await TestServer.run(configuration: limits) { server in
            func half(_ headers: String = "") throws -> RawClient {
                let client = try server.client()
                try client.send(
                    "POST / HTTP/1.1\r\nHost: x\r\n\(headers)Content-Length: 90000\r\n\r\n"
                        + String(repeating: "x", count: 40_000))
                return client
            }
            let stranger = try half()
            #expect(await server.settles { $0.bufferedBytes > 40_000 })
            let refused = try half()
            #expect(try refused.response().status == 503)
            var signedIn: [RawClient] = []
            for _ in 0..<7 { signedIn.append(try half("Authorization: x\r\n")) }
            #expect(await server.settles { $0.bufferedBytes > 320_000 })
            #expect(server.edge.counters.refusedBytes.perAddress.value == 1)
            stranger.close()
        }
    }

    @Test(
        "a signed-in client gets a long answer to its end, whatever strangers hold and even if the buffer is full"
    )
    func readers() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 400_000, perAddress: nil) }
        let behaviour = TestDelegate.Behaviour(onRequest: { _, _, responder in
            responder.send(HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 8 * 1024)))
        })
        try await TestServer.run(configuration: limits, behaviour) { server in
            func hold(_ bytes: Int, _ headers: String = "") async throws -> RawClient {
                let client = try server.client()
                let before = server.edge.counters.bufferedBytes
                try client.send(
                    "POST / HTTP/1.1\r\nHost: x\r\n\(headers)Content-Length: \(bytes + 1)\r\n\r\n"
                        + String(repeating: "x", count: bytes))
                #expect(await server.settles { $0.bufferedBytes >= before + bytes })
                return client
            }
            var holders = [try await hold(190_000)]
            let (slow, slower) = (try server.client(receiveBuffer: 4096), try server.client(receiveBuffer: 4096))
            let count = try await server.leaveUnread(by: slow, atLeast: 40_000, headers: ["Authorization: x"])
            holders.append(try await hold(140_000, "Authorization: x\r\n"))
            // The whole buffer is in use now.
            let other = try await server.leaveUnread(by: slower, atLeast: 40_000, headers: ["Authorization: x"])
            let refused = try server.client()
            try refused.send(
                "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nContent-Length: 90000\r\n\r\n"
                    + String(repeating: "x", count: 60_000))
            #expect(try refused.response().status == 503)
            for _ in 0..<count { #expect(try slow.response().status == 200) }
            for _ in 0..<other { #expect(try slower.response().status == 200) }
            #expect(server.edge.counters.slowCloses.value == 0)
            for holder in holders { holder.close() }
        }
    }

    @Test("bytes buffered behind a trusted proxy count for the client's address")
    func bufferedThroughProxy() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 4 << 20, perAddress: 200_000) }
            .with { $0.trustedProxies = [IPNetwork("127.0.0.1")].compactMap(\.self) }
        let held = Mutex<[HTTPResponder]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { request, _, responder in
            if request.path == "/held" {
                held.withLock { $0.append(responder) }
            } else {
                responder.send(.init(status: 404))
            }
        })
        try await TestServer.run(configuration: limits, behaviour) { server in
            func post(_ path: String, of address: String, sending bytes: Int) async throws -> RawClient {
                let before = server.edge.counters.bufferedBytes
                let client = try server.client()
                try client.send(
                    "POST \(path) HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(address)\r\nAuthorization: \(address)\r\n"
                        + "Content-Length: 90000\r\n\r\n"
                        + String(repeating: "x", count: bytes))
                #expect(
                    await server.settles {
                        $0.bufferedBytes >= before + 80_000 || $0.refusedBytes.perAddress.value > 0
                    })
                return client
            }
            let unfinished = try await post("/", of: "192.0.2.1", sending: 89_000)
            // Whole, and being answered.
            let asked = try await post("/held", of: "192.0.2.1", sending: 90_000)
            #expect(await server.settles { _ in held.withLock { $0.count } == 1 })
            #expect(server.edge.counters.refusedBytes.perAddress.value == 0)
            let other = try await post("/", of: "192.0.2.2", sending: 89_000)
            #expect(server.edge.counters.refusedBytes.perAddress.value == 0)
            let refused = try await post("/", of: "192.0.2.1", sending: 89_000)
            #expect(try refused.response().status == 503)
            #expect(server.edge.counters.refusedBytes.perAddress.value == 1)
            held.withLock { $0 = [] }
            #expect(try asked.response().status == 500)
            for client in [unfinished, asked, other] { client.close() }
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("an address that used up its share of the loop's time has little buffered: more is read when its turn comes")
    func keepsLittleWhileResting() async throws {
        let limits = EdgeConfiguration.limited {
            $0.bufferedBytes = .init(total: 4 << 20, perAddress: 400_000)
            $0.loopTimePerAddress = 2
        }
        let behaviour = TestDelegate.Behaviour(
            onRequest: { request, _, responder in
                let end = LoopInstant.now() + .milliseconds(request.path == "/long" ? 20 : 0)
                while LoopInstant.now() < end {}
                responder.send(HTTPResponse(status: 200))
            },
            onLargeBody: { _ in HTTPResponse(status: 401) })
        try await TestServer.run(configuration: limits, behaviour) { server in
            let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n"
            let body = String(repeating: "x", count: 60_000)
            let (heads, bodies) = (
                try (0..<10).map { _ in try server.client() }, try (0..<10).map { _ in try server.client() }
            )
            for client in bodies {
                try client.send(head)
                #expect(try client.response().status == 401)
            }
            #expect(try server.client().request("GET", "/long").status == 200)
            for client in heads { try client.send(head + body) }
            for client in bodies { try client.send(body) }
            for client in heads { #expect(try client.response().status == 401) }
            for client in heads + bodies { #expect(try client.request("GET", "/").status == 200) }
            #expect(server.edge.counters.refusedBytes.perAddress.value == 0)
        }
    }

    @Test("a request's head counts until the request is answered")
    func headsCount() async throws {
        let held = Mutex<[HTTPResponder]>([])
        let behaviour = TestDelegate.Behaviour(onRequest: { _, _, responder in held.withLock { $0.append(responder) } })
        try await TestServer.run(behaviour) { server in
            let head =
                "POST / HTTP/1.1\r\nHost: x\r\nX: \(String(repeating: "x", count: 28_000))\r\nContent-Length: 2\r\n"
            let (waits, asks) = (try server.client(), try server.client())
            try waits.send(head + "\r\nx")
            #expect(await server.settles { $0.bufferedBytes >= 28_000 })
            try asks.send(head + "\r\nxx")
            #expect(await server.settles { $0.bufferedBytes >= 56_000 })
            try waits.send("x")
            // A request is counted before the application has it.
            #expect(await server.settles { _ in held.withLock { $0.count } == 2 })
            #expect(server.edge.counters.bufferedBytes >= 56_000)
            held.withLock { $0 = [] }
            #expect(try waits.response().status == 500 && asks.response().status == 500)
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("bytes that the application holds for a client count until they are released, also after the client has gone")
    func heldByApplication() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 1 << 20, perAddress: 200_000) }
        let sockets = Mutex<[Socket]>([])
        let behaviour = TestDelegate.Behaviour(
            onConnect: { socket, _ in
                sockets.withLock { $0.append(socket) }
                socket.accept()
            },
            onEvent: { socket, event in
                let bytes = Int(event.arguments[0].text) ?? 0
                socket.send(.ack(event.ackID ?? 0, [JSONValue(socket.noteHeld(change: bytes) == nil)]))
            })
        try await TestServer.run(configuration: limits, behaviour) { server in
            let (first, second) = (try server.connected(), try server.connected())
            func hold(_ bytes: Int, _ client: RawClient) throws -> String? {
                try client.sendFrame("421[\"e\",\(bytes)]")
                return try client.receiveFrame()
            }
            #expect(try hold(150_000, first) == "431[true]")
            #expect(server.edge.counters.bufferedBytes >= 150_000)
            #expect(try hold(150_000, second) == "431[false]")
            #expect(try hold(-100_000, first) == "431[true]")
            #expect(try hold(100_000, second) == "431[true]")
            first.close()
            #expect(await server.settles { $0.sockets.value == 1 })
            #expect(server.edge.counters.bufferedBytes >= 150_000)
            #expect(try hold(90_000, second) == "431[false]")
            for (socket, bytes) in zip(sockets.withLock(\.self), [50_000, 100_000]) {
                socket.loop.execute { _ = socket.noteHeld(change: -bytes) }
            }
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("a person may buffer as much as an address, over all addresses, requests and sockets")
    func bufferedOfPerson() async throws {
        let limits = EdgeConfiguration.limited { $0.bufferedBytes = .init(total: 4 << 20, perAddress: 200_000) }
        let behaviour = TestDelegate.Behaviour(
            onConnect: { socket, auth in
                socket.person = auth?["person"]?.string
                socket.accept()
            },
            onEvent: { socket, event in
                let bytes = Int(event.arguments[0].text) ?? 0
                socket.send(.ack(event.ackID ?? 0, [JSONValue(socket.noteHeld(change: bytes) == nil)]))
            })
        try await TestServer.run(configuration: limits, behaviour) { server in
            func half(_ person: String, from host: UInt8) throws -> RawClient {
                let client = try server.client(from: host)
                try client.send(
                    "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: \(person)\r\nContent-Length: 90000\r\n\r\n"
                        + String(repeating: "x", count: 89_000))
                return client
            }
            let first = try half("ada", from: 1)
            #expect(await server.settles { $0.bufferedBytes >= 89_000 })
            var sockets: [RawClient] = []
            for (host, person, answer) in [(2, "ada", "true"), (3, "ada", "false"), (3, "bob", "true")] {
                let socket = try server.webSocket(from: UInt8(host))
                try socket.sendFrame("40{\"person\":\"\(person)\"}")
                #expect(try socket.receiveFrame()?.hasPrefix("40{") == true)
                try socket.sendFrame("421[\"e\",90000]")
                #expect(try socket.receiveFrame() == "431[\(answer)]")
                sockets.append(socket)
            }
            #expect(try half("ada", from: 4).response().status == 503)
            #expect(server.edge.counters.refusedBytes.perPerson.value == 2)
            #expect(server.edge.counters.refusedBytes.perAddress.value == 0)
            try sockets[0].sendFrame("421[\"e\",-90000]")
            #expect(try sockets[0].receiveFrame() == "431[true]")
            let other = try half("ada", from: 4)
            #expect(await server.settles { $0.bufferedBytes >= 260_000 })
            try sockets[2].sendFrame("421[\"e\",-90000]")
            #expect(try sockets[2].receiveFrame() == "431[true]")
            for client in [first, other] + sockets { client.close() }
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("a large event is checked before it is read; small ones, and those with attachments, are not")
    func largeEvents() async throws {
        try await TestServer.run { server in
            let client = try server.connected()
            let rest = String(repeating: "x", count: 20_000)
            try client.sendFrame("421[\"large\",\"\(rest)")
            #expect(try client.receiveFrame() == "431[\(rest.utf8.count + 12)]")
            try client.sendFrame("422[\"large\",1]")
            #expect(try client.receiveFrame() == "432[1]")
            try client.sendFrame("423[\"other\",\"\(rest)\"]")
            #expect(try client.receiveFrame() == "433[\"\(rest)\"]")
            try client.sendFrame("451-4[\"large\",\"\(rest)\"]")
            try client.sendFrame("42[\"large\",\"\(rest)\"]")
            #expect(try client.receiveFrame()?.hasPrefix("close") == true)
        }
    }

    @Test("a large ack is not read, nor is a large packet that would be ignored")
    func largeIgnoredPackets() async throws {
        let configuration = EdgeConfiguration.socketIO(SocketIOConfiguration(unexpectedPackets: .ignore))
        try await TestServer.run(configuration: configuration) { server in
            let client = try server.connected()
            let rest = String(repeating: "x", count: 20_000)
            for start in ["431[\"", "42/other,[\"e\",\"", "43/other,1[\""] { try client.sendFrame(start + rest) }
            try client.sendFrame("421[\"e\",1]")
            #expect(try client.receiveFrame() == "431[1]")
        }
    }

    @Test("a large body is checked before it is kept")
    func largeBodies() async throws {
        let behaviour = TestDelegate.Behaviour(
            onRequest: { request, _, responder in
                responder.send(HTTPResponse(status: 200, body: Array("\(request.body.count)".utf8)))
            },
            onLargeBody: { $0.headers.contains("Authorization") ? nil : HTTPResponse(status: 401) })
        try await TestServer.run(behaviour) { server in
            let client = try server.client()
            let body = String(repeating: "x", count: 100_000)
            #expect(try client.request("POST", "/", body: body).status == 401)
            #expect(try client.request("POST", "/", headers: ["Authorization: x"], body: body).body == "100000")
            #expect(try client.request("POST", "/", body: String(repeating: "x", count: 1000)).body == "1000")
            #expect(server.edge.counters.bufferedBytes == 0)
        }
    }

    @Test("an address that sends too many requests is refused on any path, and its connection ends")
    func tooOften() async throws {
        let behaviour = TestDelegate.Behaviour(secondsToWait: { "\($0)" == "127.0.0.1" ? 7 : nil })
        try await TestServer.run(behaviour) { server in
            for target in ["/", "/socket.io/?EIO=4&transport=polling"] {
                let client = try server.client()
                let refusal = try client.request("GET", target)
                #expect(refusal.status == 429 && refusal.header("Retry-After") == "7")
                #expect(try client.isClosed())
            }
            #expect(try server.client(from: 2).request("GET", "/").status == 404)
        }
    }

    @Test("each request is counted once, however it is answered, and refused if there are too many")
    func countedOnce() async throws {
        let asked = Mutex(0)
        let behaviour = TestDelegate.Behaviour(
            onRequest: { _, _, responder in responder.send(HTTPResponse(status: 200)) },
            onLargeBody: { $0.headers.contains("Authorization") ? nil : HTTPResponse(status: 401) },
            secondsToWait: { client in
                asked.withLock { $0 += 1 }
                return "\(client)" == "127.0.0.2" ? 7 : nil
            })
        let configuration = EdgeConfiguration.socketIO().with { $0.http.maxBodyBytes = 200_000 }
        try await TestServer.run(loops: 2, configuration: configuration, behaviour) { server in
            func post(
                _ bytes: Int, _ target: String = "/", _ headers: [String] = [], from host: UInt8 = 1, gets status: Int
            ) throws {
                let before = asked.withLock { $0 }
                let response = try server.client(from: host).request(
                    "POST", target, headers: headers, body: String(repeating: "x", count: bytes))
                #expect(response.status == status)
                #expect(asked.withLock { $0 } - before == 1)
            }
            let sockets = "/socket.io/?EIO=4&transport=polling&sid="
            try post(100, gets: 200)
            try post(100_000, "/", ["Authorization: x"], gets: 200)
            try post(100_000, gets: 401)
            try post(300_000, gets: 413)
            // On whatever loop they come in.
            for sid in ["x", "0.x", "1.x", "0.x", "1.x", "0.x", "1.x"] {
                try post(100_000, sockets + sid, gets: 413)
                try post(10, sockets + sid, gets: 400)
            }
            for (bytes, target) in [(100, "/"), (100_000, "/"), (300_000, "/"), (100_000, sockets + "x")] {
                try post(bytes, target, from: 2, gets: 429)
            }
        }
    }
}
