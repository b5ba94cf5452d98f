import Contracts
import JSON
import Testing

@Suite("Deleting a message")
struct DeletingTests {
    @Test("it is gone, once; its `seq` is not used again")
    func gone() async throws {
        try await MessagingWorld.serving { world in
            let room = world.rooms.make("room", "alice", "bob")
            let kept = try await world.sent(by: "alice", in: room)
            let gone = try await world.sent(by: "alice", in: room)
            #expect(try await world.delete(gone, by: "alice", in: room).status == .noContent)
            try await world.expect(.messageNotFound) { try await world.delete(gone, by: "alice", in: room) }
            #expect(try await world.list(by: "bob", in: room).messages.strings("id") == [kept])
            #expect(try await world.send(by: "bob", in: room).data["seq"]?.int == 3)
        }
    }

    @Test("only its sender may, and only in its room")
    func whose() async throws {
        try await MessagingWorld.serving { world in
            let (room, other) = (world.rooms.make("room", "alice", "bob"), world.rooms.make("other", "alice", "bob"))
            let id = try await world.sent(by: "alice", in: room)
            _ = world.takeEntries()
            try await world.expect(.forbidden) { try await world.delete(id, by: "bob", in: room) }
            try await world.expect(.messageNotFound) { try await world.delete(id, by: "alice", in: other) }
            try await world.expect(.messageNotFound) { try await world.delete("x", by: "bob", in: room) }
            try await world.expect(.roomNotFound) { try await world.delete(id, by: "carol", in: room) }
            #expect(world.takeEntries().isEmpty)
            #expect(try await world.list(by: "bob", in: room).messages.count == 1)
        }
    }

    @Test("the room and everyone are told, and those whose badge fell their new count")
    func events() async throws {
        try await MessagingWorld.serving { world in
            let room = world.rooms.make("room", "alice", "bob", "carol")
            let id = try await world.sent(by: "alice", in: room)
            _ = try await world.sent(by: "alice", in: room)
            _ = try await world.read([id], by: "carol", in: room)
            _ = world.takeEntries()
            world.clock.advance(by: .seconds(2))
            let reply = try await world.delete(id, by: "alice", in: room)
            let entry = try #require(world.takeEntries().first)
            #expect(entry.seq == reply.position?.seq)
            #expect(entry.emissions.map(\.event) == ["message:deleted", "message:deleted:global", "room:badges"])
            #expect(entry.emissions.map(\.audience) == [.room, .everyone, .person("bob")])
            #expect(entry.emissions.map(\.composition) == [nil, nil, .badges])
            #expect(
                entry.emissions.map(\.data.text) == [
                    #"{"roomId":"room","messageId":"\#(id)","deletedBy":"alice"}"#,
                    #"{"roomId":"room","messageId":"\#(id)","deletedBy":"alice","messagesUpdatedAt":"2023-11-14T22:13:22Z"}"#,
                    #"{"roomId":"room","badges":{"messages":1}}"#,
                ])
            #expect(try await world.unread(of: "bob", in: room) == 1)
            #expect(try await world.unread(of: "carol", in: room) == 1)
        }
    }
}
