import ParlorContracts
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorRooms

@Suite("Renaming a room")
struct RenameRoomTests {
    @Test("gives the room with its new name and time, and emits to the room, then to everyone")
    func rename() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob, name: "before")
            let createdAt = harness.clock.now()
            harness.clock.advance(by: .milliseconds(61_234))
            let reply = try await harness.rename(id, "  after ", by: harness.bob)
            #expect(reply.data["name"]?.string == "after" && reply.data["displayName"]?.string == "after")
            #expect(reply.data["updatedAt"]?.int == createdAt.milliseconds + 61_234)
            #expect(reply.data["createdAt"]?.int == createdAt.milliseconds)
            #expect(try await harness.get(id, by: harness.alice).data == reply.data)

            let entry = try #require(try await harness.entries().last)
            #expect(reply.position == EntryPosition(log: "rooms", seq: entry.seq))
            #expect(entry.roomID == id && entry.participants == [harness.alice.id, harness.bob.id])
            #expect(entry.fact == .roomRenamed)
            let emissions = entry.emissions
            #expect(emissions.map(\.event) == ["room:updated", "room:updated:global"])
            #expect(emissions.map(\.audience) == [.room, .everyone])
            let time = harness.clock.now().isoSeconds
            #expect(
                emissions.map(\.data.text) == [
                    #"{"room":{"id":"\#(id)","name":"after","updatedAt":"\#(time)"}}"#,
                    #"{"roomId":"\#(id)","updatedBy":"\#(harness.bob.id)","updatedAt":"\#(time)"}"#,
                ])
        }
    }

    @Test("with nothing but white space clears the name, which is then null and not sent as text")
    func clear() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob, name: "before")
            let reply = try await harness.rename(id, "  ", by: harness.alice)
            #expect(reply.data["name"]?.isNull == true)
            #expect(reply.data["displayName"]?.string == "Alice & bob")
            #expect(try await harness.entries().last?.emissions.first?.data["room"]?["name"]?.isNull == true)
        }
    }

    @Test(
        "to the name it already has changes nothing and emits nothing",
        arguments: [("Team", " Team "), (nil, ""), (nil, " \n ")] as [(String?, String)])
    func unchanged(name: String?, again: String) async throws {
        try await RoomsHarness.serving { harness in
            let created = try await harness.create(harness.alice, with: harness.bob, name: name)
            harness.clock.advance(by: .seconds(5))
            let reply = try await harness.rename(try created.roomID, again, by: harness.bob)
            #expect(reply.data == created.data && reply.position == nil)
            #expect(try await harness.entries().count == 1)
        }
    }

    @Test("to the same letters in other code points is a change, stored as sent")
    func codePoints() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob, name: "caf\u{E9}")
            let reply = try await harness.rename(id, "cafe\u{301}", by: harness.alice)
            #expect(reply.position != nil)
            #expect(reply.data["name"]?.string.map { Array($0.unicodeScalars) } == Array("cafe\u{301}".unicodeScalars))
        }
    }

    @Test("moves updatedAt also while the clock stands or goes back")
    func clockStands() async throws {
        try await RoomsHarness.serving { harness in
            let created = try await harness.create(harness.alice, with: harness.bob)
            var last = try #require(created.data["updatedAt"]?.int)
            for (name, step) in [("a", 0), ("b", -3600), ("c", 0), ("d", -1)] {
                harness.clock.advance(by: .seconds(step))
                let reply = try await harness.rename(try created.roomID, name, by: harness.alice)
                let updatedAt = try #require(reply.data["updatedAt"]?.int)
                #expect(updatedAt > last)
                last = updatedAt
            }
        }
    }

    @Test("is refused to strangers as if there were no room, and for a bad name, and changes nothing")
    func refused() async throws {
        try await RoomsHarness.serving { harness in
            let created = try await harness.create(harness.alice, with: harness.bob, name: "kept")
            let id = try created.roomID
            #expect(await failure { try await harness.rename(id, "mine", by: harness.carol) } == .roomNotFound)
            #expect(await failure { try await harness.rename("none", "mine", by: harness.carol) } == .roomNotFound)
            #expect(await failure { try await harness.rename("nul\0", "mine", by: harness.carol) } == .roomNotFound)
            let long = await failure {
                try await harness.rename(id, String(repeating: "x", count: 101), by: harness.alice)
            }
            #expect(long?.code == .invalidField && long?.message.contains("name") == true)
            let missing = await failure {
                try await harness.ask("rooms.rename", by: harness.alice) { $0.member("roomId", id) }
            }
            #expect(missing == .missing("name"))
            #expect(try await harness.get(id, by: harness.alice).data == created.data)
            #expect(try await harness.entries().count == 1)
        }
    }
}
