import ParlorEdge
import ParlorHTTP
import ParlorJSON
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@Suite("Connections that become a WebSocket, or move to another loop", .timeLimit(.minutes(1)))
struct ConnectionHandoverTests {
    private static let upgrade =
        "GET /socket.io/?EIO=4&transport=websocket HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n"
        + "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    private static let slow = "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n"

    private static let answers = TestDelegate.Behaviour(onRequest: { request, _, responder in
        let response = HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 8 * 1024))
        guard request.path == "/slow" else { return responder.send(response) }
        responder.loop.execute { responder.loop.execute { responder.send(response) } }
    })

    @Test("an upgrade after unread answers counts them once", arguments: ["", slow])
    func upgradeWhileStalled(before: String) async throws {
        let configuration = EdgeConfiguration.socketIO().with {
            $0.limits.connections = .init(total: 2, perAddress: nil)
            // Strangers have half: the unread bytes fit it once, and not twice.
            $0.limits.bufferedBytes = .init(total: 100_000, perAddress: nil)
        }
        try await TestServer.run(configuration: configuration, Self.answers) { server in
            let client = try server.client(receiveBuffer: 4096)
            let count = try await server.leaveUnread(by: client, atLeast: 24_000)
            try client.send(before + Self.upgrade)
            while server.edge.counters.webSockets.value == 0 { await Task.yield() }
            await server.turns()
            // It evicts waiting connections, and none that has gone.
            let first = try server.client()
            #expect(try first.request("GET", "/").status == 200)
            let second = try server.client()
            #expect(try second.request("GET", "/").status == 200)
            #expect(try first.isClosed())

            for _ in 0..<(count + (before.isEmpty ? 0 : 1)) { #expect(try client.response().status == 200) }
            #expect(try client.response().status == 101)
            #expect(try client.receiveFrame()?.hasPrefix("0{") == true)
            try client.sendFrame("40")
            #expect(try client.receiveFrame()?.hasPrefix("40{") == true)
            client.close()
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("bytes unread at an upgrade no longer count once they are read", arguments: ["", slow])
    func countsAfterUpgrade(before: String) async throws {
        try await TestServer.run(configuration: .socketIO(), Self.answers) { server in
            let client = try server.client(receiveBuffer: 4096)
            let count = try await server.leaveUnread(by: client, atLeast: 24_000)
            try client.send(before + Self.upgrade)
            for _ in 0..<(count + (before.isEmpty ? 0 : 1)) { #expect(try client.response().status == 200) }
            #expect(try client.response().status == 101)
            client.close()
            #expect(await server.settles { $0.bufferedBytes == 0 && $0.connections.value == 0 })
        }
    }

    @Test("a connection that is cut in the turn in which it moves to another loop stays closed")
    func cutOffOnArrival() async throws {
        let configuration = EdgeConfiguration.socketIO().with {
            $0.limits.bufferedBytes = .init(total: 4 << 20, perAddress: 200_000)
        }
        try await TestServer.run(loops: 2, configuration: configuration) { server in
            let filler = try server.client()
            try filler.send(
                "POST / HTTP/1.1\r\nHost: x\r\nAuthorization: x\r\nContent-Length: 300000\r\n\r\n"
                    + String(repeating: "x", count: 190_000))
            while server.edge.counters.bufferedBytes < 180_000 { await Task.yield() }
            var clients: [RawClient] = []
            for _ in 0..<40 {
                let client = try server.client()
                let target = "/socket.io/?EIO=4&transport=websocket&sid=\(try server.polling())"
                let head = Self.upgrade.replacing("/socket.io/?EIO=4&transport=websocket", with: target)
                try client.send(Array(head.utf8) + [UInt8](repeating: 0x78, count: 40_000))
                clients.append(client)
            }
            while server.edge.counters.moves.value < 5 { await Task.yield() }
            for client in clients { client.close() }
            filler.close()
            #expect(await server.settles { $0.connections.value == 0 && $0.bufferedBytes == 0 })
        }
    }

    @Test("a large body is checked on the loop of its session; a made-up session has none on any loop")
    func madeUpSession() async throws {
        let configuration = EdgeConfiguration.socketIO().with { $0.bodyTimeout = .seconds(2) }
        try await TestServer.run(loops: 2, configuration: configuration) { server in
            for sid in ["0.x", "1.x", "0.x", "1.x", "0.x", "1.x"] {
                let client = try server.client()
                try client.send(
                    "POST /socket.io/?EIO=4&transport=polling&sid=\(sid) HTTP/1.1\r\nHost: x\r\n"
                        + "Content-Length: 1000000\r\n\r\n" + String(repeating: "4", count: 100_000))
                #expect(try client.response().status == 413)
            }
            #expect(await server.settles { $0.bufferedBytes == 0 })
        }
    }

    @Test("a large body of a connected session is accepted on any loop")
    func largeBodyMoves() async throws {
        try await TestServer.run(loops: 4) { server in
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            #expect(try server.client().request("POST", target, body: "40").body == "ok")
            #expect(try server.client().request("GET", target).body.hasPrefix("40{"))
            let text = String(repeating: "x", count: 100_000)
            for number in 0..<20 {
                let client = try server.client()
                let body = "42\(number)[\"e\",\"\(text)\"]"
                switch number % 3 {
                case 0: #expect(try client.request("POST", target, body: body).body == "ok")
                case 1:
                    try client.send(
                        "POST \(target) HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
                            + "Content-Length: \(body.utf8.count)\r\n\r\n")
                    #expect(try client.response().status == 100)
                    try client.send(body)
                    #expect(try client.response().body == "ok")
                default:
                    try client.send(
                        "POST \(target) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                            + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n")
                    #expect(try client.response().body == "ok")
                }
                #expect(try client.request("GET", target).body == "43\(number)[\"\(text)\"]")
            }
            #expect(server.edge.counters.moves.value > 0)
        }
    }
}
