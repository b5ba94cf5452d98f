import ParlorContracts
import ParlorJSON
import ParlorServiceKitTesting
import Testing

@Suite("Reading messages")
struct ReadingTests {
    @Test("each message is read once, and shows its reader and the time")
    func readOnce() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await harness.sent(by: "alice", in: room)) }
            harness.clock.advance(by: .milliseconds(1500))
            #expect(try await harness.read([ids[2], ids[0], ids[0]], by: "bob", in: room).data["readCount"]?.int == 2)
            harness.clock.advance(by: .seconds(1))
            #expect(try await harness.read(ids, by: "bob", in: room).data["readCount"]?.int == 1)
            #expect(try await harness.read(ids, by: "bob", in: room).data["readCount"]?.int == 0)

            let messages = try await harness.list(by: "alice", in: room).messages
            #expect(messages.map { $0["readStatus"]?.bool } == [true, true, true])
            #expect(messages[0]["readBy"]?.text == #"[{"userId":"bob","readAt":"2023-11-14T22:13:21.500Z"}]"#)
            #expect(messages[1]["readBy"]?.text == #"[{"userId":"bob","readAt":"2023-11-14T22:13:22.500Z"}]"#)
        }
    }

    @Test("the room gets the newly read messages, the reader the new count, and nobody anything if nothing changed")
    func events() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let (first, second) = (
                try await harness.sent(by: "alice", in: room), try await harness.sent(by: "alice", in: room)
            )
            _ = try await harness.sent(by: "alice", in: room)
            _ = try await harness.read([first], by: "bob", in: room)
            _ = harness.takeEntries()
            let reply = try await harness.read([first, second], by: "bob", in: room)
            let entry = try #require(harness.takeEntries().first)
            #expect(entry.seq == reply.position?.seq)
            #expect(entry.emissions.map(\.event) == ["messages:read", "room:badges"])
            #expect(entry.emissions.map(\.audience) == [.room, .person("bob")])
            #expect(entry.emissions.map(\.composition) == [nil, .badges])
            #expect(
                entry.emissions.map(\.data.text) == [
                    #"{"roomId":"room","userId":"bob","messageIds":["\#(second)"],"readAt":"2023-11-14T22:13:20.000Z"}"#,
                    #"{"roomId":"room","badges":{"messages":1}}"#,
                ])
            let nothing = try await harness.read([first, second], by: "bob", in: room)
            #expect(nothing.position == nil && harness.takeEntries().isEmpty)
        }
    }

    @Test("one's own, unknown, deleted and other rooms' messages are skipped")
    func passedOver() async throws {
        try await MessagingHarness.serving { harness in
            let (room, other) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")
            )
            let mine = try await harness.sent(by: "bob", in: room)
            let deleted = try await harness.sent(by: "alice", in: room)
            _ = try await harness.delete(deleted, by: "alice", in: room)
            let elsewhere = try await harness.sent(by: "alice", in: other)
            let here = try await harness.sent(by: "alice", in: room)
            let ids = ["", "nonsense", "'; --", "\(here)\0", "\u{7}", mine, deleted, elsewhere]
            _ = harness.takeEntries()
            #expect(try await harness.read(ids, by: "bob", in: room).data["readCount"]?.int == 0)
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.read(ids + [here], by: "bob", in: room).data["readCount"]?.int == 1)
            #expect(try await harness.unread(of: "bob", in: other) == 1)
        }
    }

    @Test("a request has 1 to 500 ids, which are strings")
    func size() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            for count in [0, 501] {
                let ids = Array(repeating: "x", count: count)
                try await harness.expect(.invalidField) { try await harness.read(ids, by: "bob", in: room) }
            }
            let wrong = await failure {
                try await harness.ask("messaging.read", by: "bob") {
                    $0.member("roomId", room)
                    $0.member("messageIds", array: { $0.number(1) })
                }
            }
            #expect(wrong?.code == .malformedRequest)
            #expect(try await harness.read(Array(repeating: "x", count: 500), by: "bob", in: room).status == .ok)
        }
    }
}
