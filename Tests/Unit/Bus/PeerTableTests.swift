import ParlorMessageBus
import ParlorSecurity
import ParlorServiceKit
import Testing

@testable import ParlorBus

/// A table of peers that is wrong, or replaces another one while peers are connected.
@Suite("table of peers")
struct PeerTableTests {
    private static let digest = SHA256.hash("a token".utf8).hexadecimal

    @Test(
        "a line with a member that it cannot have is refused and named", arguments: ["requests", "subcribe", "Service"])
    func typos(typo: String) {
        let line = #"{"service":"polls","\#(typo)":["rooms.membership"],"token":"sha256:\#(Self.digest)"}"#
        #expect {
            try BusPeerTable(Array(line.utf8), from: "peers")
        } throws: { error in
            "\(error)".contains("peers: line 1 has `\(typo)`")
        }
    }

    @Test(
        "a plugin cannot be allowed to publish for gateways, operators, or another service's log",
        arguments: [
            ("services.forget", false), ("services.announce.rooms", false), ("services.*", false), ("*.forget", false),
            ("gateways.presence", false), ("messaging.log", false), ("messaging.*", false), ("*.log", false),
            (">", false), ("status.wanted", false), ("services.discover", true), ("polls.log", true),
            ("messaging.hints", true), ("games.scores.>", true),
        ])
    func publishing(subject: String, isAllowed: Bool) {
        let line = #"{"service":"polls","publish":["\#(subject)"],"token":"sha256:\#(Self.digest)"}"#
        let table = Result { try BusPeerTable(Array(line.utf8), from: "peers") }
        switch table {
        case .success: #expect(isAllowed)
        case .failure(let error): #expect(!isAllowed && "\(error)".contains("line 1 lists `publish` of `\(subject)`"))
        }
    }

    @Test("a new table disconnects the peers whose row is gone or has changed, and admits new ones")
    func replaced() throws {
        var settings = BrokerSettings()
        settings.access = try access([("stays", "log"), ("changes", "log"), ("goes", "log")])
        let broker = Broker(settings: settings)
        let peers = ["stays", "changes", "goes"].map { join(broker, $0) }
        #expect(peers.map(\.phase) == [.open, .open, .open] && join(broker, "comes").phase == .closing)
        broker.admit(by: try access([("comes", "log"), ("changes", "events"), ("stays", "log")]))
        #expect(peers.map(\.phase) == [.open, .closing, .closing])
        let reason = #"{"op":"err","code":"unauthorized","message":"the table of peers has changed"}"# + "\n"
        #expect(peers[1...].allSatisfy { String(decoding: $0.takeOutbox(), as: UTF8.self).hasSuffix(reason) })
        #expect(["stays", "changes", "goes"].map { join(broker, $0).phase } == [.open, .open, .closing])
        #expect(join(broker, "comes").phase == .open)
    }

    /// Returns the table of services, each of which may request one subject of Rooms.
    private func access(_ services: [(name: String, request: String)]) throws -> BrokerAccess {
        let lines = services.map { name, request in
            let digest = SHA256.hash("the token of \(name)".utf8).hexadecimal
            return #"{"service":"\#(name)","request":["rooms.\#(request)"],"token":"sha256:\#(digest)"}"#
        }
        return .peers(try BusPeerTable(Array(lines.joined(separator: "\n").utf8), from: "peers"))
    }

    private func join(_ broker: Broker, _ name: String) -> BrokerPeer {
        let peer = broker.connect(at: .zero)
        Array(#"{"op":"hello","version":1,"token":"the token of \#(name)"}"#.utf8).withUnsafeBytes {
            broker.receive($0, from: peer, at: .zero)
        }
        return peer
    }
}
