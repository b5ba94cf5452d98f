import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceKit
import Synchronization
import Testing

@testable import ParlorGatewayPresence

/// Gateways of this version and of earlier ones share a bus: their publications must not change by
/// a byte.
@Suite("What gateways publish")
struct PeerMessageTests {
    private let ada = Presence.Entry(kind: .presence, member: RoomMember(roomID: "r", userID: "ada"))
    private let bob = Presence.Entry(kind: .typing, member: RoomMember(roomID: "r", userID: "bob"))

    @Test("each publication is encoded as documented")
    func written() throws {
        let bus = InProcessBus()
        let lines = Mutex<[String]>([])
        try bus.subscribe("gateways.>") { message in
            lines.withLock { $0.append("\(message.subject) \(message.data)") }
        }
        var sync = PeerSync(gatewayID: "g", bus: bus, log: .silent)
        sync.askAll()
        sync.publish(ada, isOn: true)
        sync.publish(bob, isOn: true)
        let begins = sync.beginSnapshot()
        let goesOn = sync.sendPart()
        sync.publish(ada, isOn: false)
        sync.sendHeartbeat(at: LoopInstant(nanoseconds: 7))
        #expect(begins && !goesOn)
        let expected = [
            #"gateways.hello {"gateway":"g"}"#,
            #"gateways.presence {"gateway":"g","number":1,"roomId":"r","userId":"ada","isOn":true}"#,
            #"gateways.typing {"gateway":"g","number":2,"roomId":"r","userId":"bob","isOn":true}"#,
            #"gateways.snapshot {"gateway":"g","number":3,"part":0,"isLast":true,"#
                + #""presence":[{"roomId":"r","userId":"ada"}],"typing":[{"roomId":"r","userId":"bob"}]}"#,
            #"gateways.presence {"gateway":"g","number":4,"roomId":"r","userId":"ada","isOn":false}"#,
            #"gateways.alive {"gateway":"g","number":4,"at":7}"#,
        ]
        #expect(lines.withLock { $0 } == expected)
    }

    @Test(
        "a gateway that sends its snapshot, or is about to, is not asked for it at the next heartbeat",
        arguments: [
            (PeerMessage.Topic.hello, #"{"gateway":"h"}"#),
            (.snapshot, #"{"gateway":"h","number":0,"part":0,"isLast":false,"presence":[],"typing":[]}"#),
        ])
    func answering(topic: PeerMessage.Topic, json: String) throws {
        let bus = InProcessBus()
        let asked = Mutex(0)
        try bus.subscribe("gateways.hello") { _ in asked.withLock { $0 += 1 } }
        var sync = PeerSync(gatewayID: "g", bus: bus, log: .silent)
        var table = PresenceTable(gatewayID: "g")
        _ = sync.receive(try #require(try message(topic, json)), into: &table)
        sync.sendHeartbeat(at: .now())
        #expect(asked.withLock { $0 } == 0)
        // It has not come by then, or not whole.
        sync.sendHeartbeat(at: .now())
        #expect(asked.withLock { $0 } == 1)
    }

    @Test("the heartbeat is the one that all gateways count")
    func heartbeat() { #expect(PeerMessage.Topic.alive.subject == Subject.gatewayAlive) }

    @Test("each message decodes as it was encoded")
    func read() throws {
        let read = try [
            body(.presence, #"{"gateway":"g","number":4,"roomId":"r","userId":"ada","isOn":false}"#),
            body(.alive, #"{"gateway":"g","number":4}"#), body(.alive, #"{"gateway":"g"}"#),
            body(.hello, #"{"gateway":"g"}"#), body(.hello, #"{"gateway":"g","to":"h"}"#),
            body(
                .snapshot,
                #"{"gateway":"g","number":3,"part":1,"isLast":true,"presence":[{"roomId":"r","userId":"ada"},1],"#
                    + #""typing":[{"roomId":"r","userId":"bob"},{"roomId":"r"}]}"#),
        ]
        let expected: [PeerMessage.Body?] = [
            .change(number: 4, ada, isOn: false), .heartbeat(number: 4), .heartbeat(number: nil), .hello(to: nil),
            .hello(to: "h"), .snapshot(number: 3, .init(isFirst: false, isLast: true, entries: [ada, bob])),
        ]
        #expect(read == expected)
    }

    @Test("an unreadable message is a sign of life; one without a gateway's name is nothing")
    func unreadable() throws {
        for topic in [PeerMessage.Topic.presence, .typing, .snapshot] {
            let message = try #require(try message(topic, #"{"gateway":"g","roomId":"r"}"#))
            #expect(message.gateway == "g" && message.body == nil)
        }
        for text in ["1", "{}", #"{"gateway":1}"#] { #expect(try message(.alive, text) == nil) }
    }

    private func message(_ topic: PeerMessage.Topic, _ json: String) throws -> PeerMessage? {
        PeerMessage(topic, try JSONValue(parsing: json))
    }

    private func body(_ topic: PeerMessage.Topic, _ json: String) throws -> PeerMessage.Body? {
        try message(topic, json)?.body
    }
}
