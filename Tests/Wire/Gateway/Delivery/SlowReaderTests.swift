import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@Suite("Slow readers", .timeLimit(.minutes(1)))
struct SlowReaderTests {
    private static func long(_ name: String) -> Emission {
        Emission(to: .room, name, JSONWriter.value { $0.string(String(repeating: "x", count: 12_000)) })
    }

    /// Sends an event, and reads up to its ack.
    private static func finish(_ event: String, _ payload: String, on client: SocketIOTestClient) async throws {
        try await client.emit(event, payload, ack: 9)
        while true {
            if case .ack(9, let answer) = try await client.next() { return #expect(answer["success"]?.bool == true) }
        }
    }

    @Test("presence and typing wait until a slow reader catches up; what started and ended meanwhile is not sent")
    func shed() async throws {
        try await GatewayHarness.run(["--max-pending-bytes", "256k"]) { harness in
            let poller = try await Poller.joined(harness)
            let (bob, other) = (try await harness.join(GatewayHarness.bob), try await harness.join(GatewayHarness.bob))
            try await poller.read { $0.contains("room:presence") && $0.contains("bob") }
            for number in 1...12 { harness.chat.emit([Self.long("long\(number)")]) }
            for isTyping in [true, false] {
                try await Self.finish("message:typing", "{\"roomId\":\"r\",\"isTyping\":\(isTyping)}", on: other)
            }
            for client in [bob, other] { try await Self.finish("room:leave", #"{"roomId":"r"}"#, on: client) }
            let packets = try await poller.read { $0.contains("room:presence") }
            #expect(packets.filter { $0.contains("long") }.count == 12, "no event that cannot be sent later is dropped")
            #expect(!packets.contains { $0.contains("message:typing") })
            #expect(packets.last?.contains("false") == true)
        }
    }

    private static let cy = Caller(id: "cy", username: "cy", firstName: nil)

    /// Reads up to an event that Ada has opened or left the room.
    private static func readPresenceOfAda(_ isPresent: Bool, on client: SocketIOTestClient) async throws {
        let data = try JSONValue(parsing: "{\"roomId\":\"r\",\"userId\":\"ada\",\"isPresent\":\(isPresent)}")
        while try await client.next() != .event("room:presence", data) {}
    }

    /// Runs a test with Ada as a slow reader in the room, which Cy joined before she stopped reading, and Bob after.
    private static func runPresence(
        _ test: (Poller, _ bob: SocketIOTestClient, _ cy: SocketIOTestClient) async throws -> Void
    ) async throws {
        try await GatewayHarness.run(["--max-pending-bytes", "256k"], loops: 1) { harness in
            let poller = try await Poller.joined(harness)
            let cy = try await harness.join(Self.cy)
            try await poller.read { $0.contains("room:presence") && $0.contains("cy") }
            for _ in 1...12 { harness.chat.emit([Self.long("long")], participants: ["ada", "bob", "cy"]) }
            for _ in 1...12 {
                while true { if case .event("long", _) = try await cy.next() { break } }
            }
            try await test(poller, try await harness.join(GatewayHarness.bob), cy)
        }
    }

    @Test(
        "a slow reader learns that somebody left whose presence a Room has shown meanwhile", arguments: [false, true])
    func presenceInRooms(isLeft: Bool) async throws {
        try await Self.runPresence { poller, bob, cy in
            if isLeft {
                try await poller.post(#"42["room:leave",{"roomId":"r"}]"#)
                try await Self.readPresenceOfAda(false, on: cy)
            }
            // The ack shows Bob as present.
            try await poller.post(#"422["room:join",{"roomId":"r"}]"#)
            if isLeft { try await Self.readPresenceOfAda(true, on: cy) }
            try await Self.finish("room:leave", #"{"roomId":"r"}"#, on: bob)
            let packets = try await poller.read { $0.contains("room:presence") && $0.contains("bob") }
            #expect(packets.last?.contains("false") == true)
        }
    }

    @Test("a slow reader that joins a room again gets no presence from before it left")
    func presenceFromBefore() async throws {
        try await Self.runPresence { poller, bob, cy in
            try await poller.post(#"42["room:leave",{"roomId":"r"}]"#)
            try await Self.readPresenceOfAda(false, on: cy)
            try await Self.finish("room:leave", #"{"roomId":"r"}"#, on: bob)
            try await poller.post(#"422["room:join",{"roomId":"r"}]"#)
            try await Self.readPresenceOfAda(true, on: cy)
            try await Self.finish("room:leave", #"{"roomId":"r"}"#, on: cy)
            let packets = try await poller.read { $0.contains("room:presence") && $0.contains("cy") }
            #expect(packets.last?.contains("false") == true)
            #expect(!packets.contains { $0.contains("room:presence") && $0.contains("bob") })
        }
    }

    @Test("a client over its limit of unsent bytes is disconnected, and the others go on")
    func cutOff() async throws {
        try await GatewayHarness.run(["--max-pending-bytes", "256k"]) { harness in
            let poller = try await Poller.joined(harness)
            let bob = try await harness.join(GatewayHarness.bob)
            // More than sixteen times as much as may wait, as it may yet come for them.
            for number in 1...400 {
                harness.chat.emit([Self.long("long\(number)")])
                // The other's leaving is sent on the way.
                while case .event(let name, _) = try await bob.next(), name != "long\(number)" {
                    #expect(name == "room:presence")
                }
            }
            #expect(try await harness.request("GET", poller.target, as: nil).status == 400, "the socket is gone")
        }
    }

    @Test("events that a socket sent before it closed are processed, also those that waited behind a join")
    func sentBeforeItWent() async throws {
        try await GatewayHarness.run { harness in
            harness.serveRoom()
            let asked = harness.chat.hold("chat.send")
            let client = try await harness.connect()
            try await client.emit("room:join", #"{"roomId":"r"}"#)
            for _ in 1...3 { try await client.emit("chat:send", "{}") }
            try await client.send("41")
            for _ in 1...3 { try await asked.next().reply(Reply().json) }
        }
    }
}
