import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorMessaging

@Suite("Deleting a message")
struct DeletingTests {
    @Test("a message is deleted once, and its `seq` is not used again")
    func gone() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let kept = try await harness.sent(by: "alice", in: room)
            let gone = try await harness.sent(by: "alice", in: room)
            #expect(try await harness.delete(gone, by: "alice", in: room).status == .noContent)
            try await harness.expect(.messageNotFound) { try await harness.delete(gone, by: "alice", in: room) }
            #expect(try await harness.list(by: "bob", in: room).messages.strings("id") == [kept])
            #expect(try await harness.send(by: "bob", in: room).data["seq"]?.int == 3)
        }
    }

    @Test("other services learn which messages were not deleted")
    func existing() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let kept = try await harness.sent(by: "alice", in: room)
            let gone = try await harness.sent(by: "alice", in: room)
            _ = try await harness.delete(gone, by: "alice", in: room)
            let reply = try await harness.ask("messaging.existing", by: nil) {
                $0.member("messageIds", array: { for id in [gone, kept, "unknown"] { $0.string(id) } })
            }
            #expect(reply.data.text == #"{"messageIds":["\#(kept)"]}"#)
        }
    }

    @Test("other services learn which messages of one room were not deleted")
    func existingInRoom() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let other = harness.rooms.make("other", "bob", "carol")
            let kept = try await harness.sent(by: "alice", in: room)
            let gone = try await harness.sent(by: "alice", in: room)
            let elsewhere = try await harness.sent(by: "bob", in: other)
            _ = try await harness.delete(gone, by: "alice", in: room)
            func existing(in room: String) async throws -> JSONValue {
                try await harness.ask("messaging.existing", by: nil) {
                    $0.member("roomId", room)
                    $0.member("messageIds", array: { for id in [gone, kept, elsewhere] { $0.string(id) } })
                }.data
            }
            #expect(try await existing(in: room).text == #"{"messageIds":["\#(kept)"]}"#)
            #expect(try await existing(in: other).text == #"{"messageIds":["\#(elsewhere)"]}"#)
            #expect(try await existing(in: "unknown").text == #"{"messageIds":[]}"#)
        }
    }

    @Test("only its sender may delete it, and only in its room")
    func whose() async throws {
        try await MessagingHarness.serving { harness in
            let (room, other) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")
            )
            let id = try await harness.sent(by: "alice", in: room)
            _ = harness.takeEntries()
            try await harness.expect(.forbidden) { try await harness.delete(id, by: "bob", in: room) }
            try await harness.expect(.messageNotFound) { try await harness.delete(id, by: "alice", in: other) }
            try await harness.expect(.messageNotFound) { try await harness.delete("x", by: "bob", in: room) }
            try await harness.expect(.roomNotFound) { try await harness.delete(id, by: "carol", in: room) }
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.list(by: "bob", in: room).messages.count == 1)
        }
    }

    @Test(
        "nobody who catches up gets a deleted text, and positions before and after it are valid",
        arguments: Engine.allCases)
    func notInTheLog(engine: Engine) async throws {
        let folder = TemporaryFolder()
        try await MessagingHarness.serving(on: engine.open(MessagingService.migrations, in: folder)) { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let before = try await harness.sent("one", by: "alice", in: room)
            // The next message keeps the time of the first, which is later than the clock's.
            harness.clock.advance(by: .seconds(-5))
            let id = try await harness.sent("my secret", by: "alice", in: room)
            let after = try await harness.sent("three", by: "alice", in: room)
            let written = harness.takeEntries()
            _ = try await harness.delete(id, by: "alice", in: room)
            let log = EventLog(harness.database)
            let entries = try await log.entries(since: 0, limit: 10)
            #expect(!entries.contains { $0.emissionsJSON.text.contains("secret") })
            #expect(entries.prefix(3).map(\.digest) == written.map(\.digest))
            #expect(entries.prefix(3).map(\.fact) == written.map(\.fact))
            #expect(
                entries.map { $0.emissions.first?.event } == ["message:new", nil, "message:new", "message:deleted"])
            for (entry, id) in zip(entries.prefix(3), [before, id, after]) {
                #expect(entry.fact?.sentMessageID == id)
                let query = LogQuery(since: entry.seq, digest: entry.digest)
                #expect(try await log.page(for: query).isKnown)
            }
        }
    }

    @Test("the room and everyone get the deletion, and readers whose badge fell their new count")
    func events() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            let id = try await harness.sent(by: "alice", in: room)
            _ = try await harness.sent(by: "alice", in: room)
            _ = try await harness.read([id], by: "carol", in: room)
            _ = harness.takeEntries()
            harness.clock.advance(by: .seconds(2))
            let reply = try await harness.delete(id, by: "alice", in: room)
            let entry = try #require(harness.takeEntries().first)
            #expect(entry.seq == reply.position?.seq && entry.fact == .messageDeleted(id: id))
            #expect(entry.emissions.map(\.event) == ["message:deleted", "message:deleted:global", "room:badges"])
            #expect(entry.emissions.map(\.audience) == [.room, .everyone, .person("bob")])
            #expect(entry.emissions.map(\.composition) == [nil, nil, .badges])
            #expect(
                entry.emissions.map(\.data.text) == [
                    #"{"roomId":"room","messageId":"\#(id)","deletedBy":"alice"}"#,
                    #"{"roomId":"room","messageId":"\#(id)","deletedBy":"alice","messagesUpdatedAt":"2023-11-14T22:13:22Z"}"#,
                    #"{"roomId":"room","badges":{"messages":1}}"#,
                ])
            #expect(try await harness.unread(of: "bob", in: room) == 1)
            #expect(try await harness.unread(of: "carol", in: room) == 1)
        }
    }
}
