import ParlorHTTP
import ParlorReactor
import ParlorSocketIO
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorEdge

@Suite("POSTs of many packets", .timeLimit(.minutes(1)))
struct PostTests {
    @Test("others have their turns between the packets of a POST, and the next POST waits for its end")
    func slices() async throws {
        let order = Mutex<[String]>([])
        // Called with the first event, on the loop's thread.
        let afterFirst = Mutex<(@Sendable () -> Void)?>(nil)
        let behaviour = TestDelegate.Behaviour(
            onRequest: { _, _, responder in
                order.withLock { $0.append("other") }
                responder.send(HTTPResponse(status: 200))
            },
            onEvent: { _, event in
                order.withLock { $0.append(event.name) }
                if event.name == "0" { afterFirst.withLock { $0 }?() }
            })
        try await TestServer.run(configuration: .socketIO(), behaviour) { server in
            let (first, second, other) = (try server.client(), try server.client(), try server.client(from: 2))
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            #expect(try first.request("POST", target, body: "40").body == "ok")
            #expect(try first.request("GET", target).body.hasPrefix("40{"))
            let (sendSecond, sendOther) = (second.sendFromElsewhere, other.sendFromElsewhere)
            afterFirst.withLock {
                $0 = {
                    sendOther("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                    sendSecond("POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n42[\"next\"]")
                }
            }
            let names = (0..<1000).map(String.init)
            let packets = names.map { "42[\"\($0)\"]" }.joined(separator: "\u{1E}")
            #expect(try first.request("POST", target, body: packets).body == "ok")
            #expect(try second.response().body == "ok" && other.response().status == 200)
            let taken = order.withLock { $0 }
            #expect(taken.filter { $0 != "other" } == names + ["next"])
            #expect(try #require(taken.firstIndex(of: "other")) < 1000)
        }
    }

    @Test("a session that ends between the packets of a POST takes none of the others, and the POST is answered")
    func ends() async throws {
        let behaviour = TestDelegate.Behaviour(onEvent: { socket, event in
            if event.name == "80" { socket.closeTransport() }
        })
        try await TestServer.run(configuration: .socketIO(), behaviour) { server in
            let client = try server.client()
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            #expect(try client.request("POST", target, body: "40").body == "ok")
            let packets = (0..<1000).map { "42[\"\($0)\"]" } + ["1"]
            let answer = try client.request("POST", target, body: packets.joined(separator: "\u{1E}"))
            #expect(answer.status == 200 && answer.body == "ok")
            var calls: [DelegateCall] = []
            while let call = await server.next() {
                calls.append(call)
                if case .closed = call { break }
            }
            let events = calls.filter { if case .event = $0 { true } else { false } }
            #expect(events.count == 81)
            #expect(server.edge.counters.sockets.value == 0)
        }
    }

    @Test("a POST that waits for another one is dropped with its connection")
    func lost() async throws {
        let afterFirst = Mutex<(@Sendable () -> Void)?>(nil)
        let behaviour = TestDelegate.Behaviour(onEvent: { _, event in
            if event.name == "0" { afterFirst.withLock { $0 }?() }
        })
        try await TestServer.run(configuration: .socketIO(), behaviour) { server in
            let (first, second) = (try server.client(), try server.client())
            let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
            #expect(try first.request("POST", target, body: "40").body == "ok")
            // An answer that is not read makes its close a reset.
            let asked = server.edge.counters.requests.value
            try second.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(await server.settles { $0.requests.value > asked })
            await server.turns()
            let (sendSecond, disconnectSecond) = (second.sendFromElsewhere, second.disconnect)
            afterFirst.withLock {
                $0 = {
                    sendSecond("POST \(target) HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n42[\"next\"]")
                    disconnectSecond()
                }
            }
            let packets = (0..<2000).map { "42[\"\($0)\"]" }.joined(separator: "\u{1E}")
            #expect(try first.request("POST", target, body: packets).body == "ok")
            #expect(await server.settles { $0.connections.value == 1 })
            #expect(try first.request("POST", target, body: "42[\"last\"]").body == "ok")
            var names: [String] = []
            while names.last != "last", let call = await server.next() {
                if case .event(let name, _, _) = call { names.append(name) }
            }
            #expect(names.suffix(2) == ["1999", "last"])
        }
    }

    @Test("a client that has not connected may send a few packets in a POST")
    func unconnected() async throws {
        try await TestServer.run { server in
            let client = try server.client()
            for (count, status) in [(64, 200), (65, 400)] {
                let target = "/socket.io/?EIO=4&transport=polling&sid=\(try server.polling())"
                let pongs = Array(repeating: "3", count: count).joined(separator: "\u{1E}")
                #expect(try client.request("POST", target, body: pongs).status == status)
            }
        }
    }
}
