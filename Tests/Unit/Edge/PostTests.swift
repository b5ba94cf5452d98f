import HTTP
import Reactor
import SocketIO
import Synchronization
import TestSupport
import Testing

@testable import Edge

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
