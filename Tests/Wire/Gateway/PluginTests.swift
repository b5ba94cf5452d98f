import GatewayTesting
import ParlorContracts
import ParlorJSON
import ParlorServiceKitTesting
import ParlorTestSupport
import Testing

@Suite("A plugin on a running gateway", .timeLimit(.minutes(1)))
struct PluginTests {
    private static let talk = Manifest(
        service: "talk", routes: [Route("GET", "/api/talkers", "talk.people", shows: .people)])

    /// Starts the plugin on the gateway's bus, as its own program would.
    private func runPolls(on harness: GatewayHarness, _ test: () async throws -> Void) async throws {
        try await ServiceHarness<PollsService>(bus: harness.bus, clock: harness.clock).run(test)
    }

    @Test("a service that starts later adds a route, an event, a badge and a check, without a gateway change")
    func plugin() async throws {
        try await GatewayHarness.run { harness in
            let (ada, bob) = (try await harness.join(), try await harness.join(GatewayHarness.bob))
            guard case .event("room:presence", _) = try await ada.next() else {
                Issue.record("bob's presence was not sent")
                return
            }
            #expect(try await harness.request("GET", "/api/rooms/r/votes").status == 404)
            #expect(try await ada.ask("poll:vote", "{}")["error"]?["code"]?.string == "malformed_request")

            let talk = try FakeService.start(Self.talk, on: harness.bus)
            talk.on("talk.people", reply: Reply(.ok, try JSONValue(parsing: #"[{"id":"ada"},{"id":"bob"}]"#)))
            let people = { try await harness.request("GET", "/api/talkers").json["data"]?.text }
            #expect(try await people() == #"[{"id":"ada"},{"id":"bob"}]"#)
            try await runPolls(on: harness) {
                #expect(try await people() == #"[{"id":"ada","votes":0},{"id":"bob","votes":0}]"#)
                try await ada.emit("poll:vote", #"{"roomId":"r","choice":" tea "}"#, ack: 1)
                let voted = SocketIOTestClient.Packet.event(
                    "poll:voted", try JSONValue(parsing: #"{"roomId":"r","choice":"tea"}"#))
                #expect(try await ada.next() == voted)
                #expect(try await ada.next() == .ack(1, JSONValue(parsing: #"{"success":true}"#)))
                #expect(try await bob.next() == voted)

                #expect(try await harness.request("GET", "/api/rooms/r/votes").body == #"{"data":{"votes":1}}"#)
                let own = try await harness.request("GET", "/api/rooms/r").json["data"]
                #expect(own?["badges"]?["polls"]?.int == 0 && own?["hasUnread"]?.bool == false)
                let others = try await harness.request("GET", "/api/rooms/r", as: GatewayHarness.bob).json["data"]
                #expect(others?["badges"]?["polls"]?.int == 1 && others?["hasUnread"]?.bool == true)

                #expect(try await people() == #"[{"id":"ada","votes":1},{"id":"bob","votes":0}]"#)
                let invalid = try await ada.ask("poll:vote", #"{"roomId":"r","choice":""}"#)
                #expect(invalid["error"]?["code"]?.string == "invalid_field")
                harness.chat.on("chat.send", reply: Reply())
                let spoiler = try await ada.ask("chat:send", #"{"roomId":"r","text":"spoiler"}"#)
                #expect(spoiler["error"]?["message"]?.string == "Vote before you say who wins.")
                #expect(try await ada.ask("chat:send", #"{"roomId":"r","text":"hi"}"#)["success"]?.bool == true)

                let stranger = Caller(id: "eve", username: "eve", firstName: nil)
                #expect(try await harness.request("GET", "/api/rooms/r/votes", as: stranger).status == 404)
            }

            talk.stop()
            #expect(try await harness.request("GET", "/api/rooms/r/votes").status == 503)
            let without = try await harness.request("GET", "/api/rooms/r", as: GatewayHarness.bob).json
            #expect(without["degraded"]?.text == #"["polls"]"#)
            #expect(without["data"]?["badges"]?["polls"]?.int == 1)
        }
    }
}
