import Contracts
import JSON
import ServiceKitTesting
import Storage
import Testing

@testable import Rooms

@Suite("Creating a room")
struct CreateRoomTests {
    @Test("gives the room, its creator first, and tells each participant, then everyone")
    func create() async throws {
        try await RoomsWorld.serving { world in
            let reply = try await world.create(world.alice, with: world.bob, name: " Team ")
            let now = world.clock.now()
            let room = try #require(reply.data.object)
            #expect(reply.status == .created && !reply.isDuplicate)
            #expect(room["name"]?.string == "Team" && room["displayName"]?.string == "Team")
            #expect(room["createdBy"]?.string == world.alice.id)
            #expect(room["createdAt"]?.int == now.milliseconds && room["updatedAt"]?.int == now.milliseconds)
            let membership = try #require(
                Membership(
                    JSONWriter.object {
                        $0.member("roomId", room["id"])
                        $0.member("participants", room["participants"])
                    }))
            #expect(
                membership.participants == [
                    Participant(userID: world.alice.id, username: "alice", firstName: "Alice", joinedAt: now),
                    Participant(userID: world.bob.id, username: "bob", firstName: nil, joinedAt: now),
                ])

            let entry = try #require(try await world.entries().first)
            #expect(reply.position == StreamPosition(stream: "rooms", seq: entry.seq))
            #expect(entry.roomID == membership.roomID && entry.participants == membership.userIDs)
            let emissions = entry.emissions
            #expect(emissions.map(\.event) == ["room:created", "room:created", "room:created:global"])
            #expect(
                emissions.map(\.audience) == [.person(world.alice.id), .person(world.bob.id), .everyone])
            #expect(emissions.map(\.composition) == [.room, .room, nil])
            #expect(emissions[0].data == reply.data && emissions[1].data == reply.data, "the room as it is then")
            #expect(
                emissions[2].data.text
                    == #"{"roomId":"\#(membership.roomID)","createdBy":"\#(world.alice.id)"}"#)
        }
    }

    @Test("makes another one each time, also when the clock stands, and their ids are in that order")
    func another() async throws {
        try await RoomsWorld.serving { world in
            var ids: [String] = []
            for (creator, other) in [(world.alice, world.bob), (world.bob, world.alice), (world.alice, world.bob)] {
                ids.append(try await world.room(creator, with: other, name: "same"))
            }
            #expect(Set(ids).count == 3 && ids == ids.sorted())
        }
    }

    @Test(
        "is refused with nobody",
        arguments: [
            "nobody", "", "nul\0", "00000000-0000-7000-8000-00000000000b\0", String(repeating: "x", count: 9999),
        ])
    func nobody(id: String) async throws {
        try await RoomsWorld.serving { world in
            let error = await failure {
                try await world.create(world.alice, with: Caller(id: id, username: "", firstName: nil))
            }
            #expect(error == .userNotFound)
            try await world.expectNothingHappened()
        }
    }

    @Test("is refused with oneself, with a name that is none, and without a person to share it with")
    func refused() async throws {
        try await RoomsWorld.serving { world in
            let oneself = await failure { try await world.create(world.alice, with: world.alice) }
            #expect(oneself?.code == .invalidField)
            #expect(oneself?.message.contains("otherUserId") == true)
            let nameless = await failure { try await world.create(world.alice, with: world.bob, name: "\u{1}") }
            #expect(nameless?.code == .invalidField)
            #expect(nameless?.message.contains("name") == true)
            let missing = await failure { try await world.ask("rooms.create", by: world.alice) }
            #expect(missing == .missing("otherUserId"))
            try await world.expectNothingHappened()
        }
    }

    @Test("needs Accounts, and nothing else does")
    func accountsAway() async throws {
        try await RoomsWorld.serving { world in
            let id = try await world.room(world.alice, with: world.bob)
            world.accounts.goAway()
            let away = await failure { try await world.create(world.alice, with: world.bob) }
            #expect(away?.code == .serviceUnavailable && away?.retryAfter != nil)
            #expect(try await world.list(of: world.bob).roomIDs == [id])
            #expect(try await world.get(id, by: world.bob).roomID == id)
            #expect(try await world.rename(id, "still here", by: world.bob).data["name"]?.string == "still here")
        }
    }

    @Test("takes a creator whom Accounts doesn't know as the token has them")
    func foreignCreator() async throws {
        try await RoomsWorld.serving { world in
            world.accounts.forget(world.carol)
            let reply = try await world.create(world.carol, with: world.bob)
            #expect(reply.data["displayName"]?.string == "Carol & bob")
        }
    }

    @Test("brings the names of its participants up to date in all their rooms")
    func renamedPerson() async throws {
        try await RoomsWorld.serving { world in
            let id = try await world.room(world.alice, with: world.bob)
            world.accounts.add(Caller(id: world.bob.id, username: "bob", firstName: "Robert"))
            _ = try await world.room(world.carol, with: world.bob)
            #expect(try await world.get(id, by: world.alice).data["displayName"]?.string == "Alice & Robert")
            // All who see the name find in the log that something has changed; who is in the new room is told of that as ever.
            let entries = try await world.entries()
            try #require(entries.count == 3)
            #expect(entries[1].participants.sorted() == [world.alice.id, world.bob.id, world.carol.id])
            #expect(entries[1].roomID.isEmpty && entries[1].emissions.isEmpty)
            _ = try await world.room(world.carol, with: world.bob)
            #expect(try await world.entries().count == 4, "nobody has another name")
            for (name, count) in [("Ren\u{E9}", 6), ("Rene\u{301}", 8)] {
                world.accounts.add(Caller(id: world.bob.id, username: "bob", firstName: name))
                _ = try await world.room(world.carol, with: world.bob)
                #expect(try await world.entries().count == count, "another spelling is another name")
            }
        }
    }

    @Test("with a clientRequestId that came before gives that room again, also while Accounts is away")
    func repeated() async throws {
        try await RoomsWorld.serving { world in
            let first = try await world.create(world.alice, with: world.bob, name: "first", clientRequestID: "key")
            world.accounts.goAway()
            let again = try await world.create(world.alice, with: world.carol, name: "again", clientRequestID: "key")
            #expect(again.data == first.data)
            #expect(again.status == .ok && again.isDuplicate && again.position == nil)
            #expect(try await world.entries().count == 1)
        }
    }

    @Test("with a clientRequestId belongs to its creator alone")
    func keysOfOthers() async throws {
        try await RoomsWorld.serving { world in
            let mine = try await world.create(world.alice, with: world.bob, clientRequestID: "key")
            let his = try await world.create(world.bob, with: world.alice, clientRequestID: "key")
            #expect(his.status == .created)
            #expect(mine.data["id"] != his.data["id"])
        }
    }

    @Test("with one clientRequestId, asked many times at once, makes one room")
    func repeatedAtOnce() async throws {
        try await RoomsWorld.serving { world in
            let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await world.create(world.alice, with: world.bob, clientRequestID: "key") }
                }
                var replies: [Reply] = []
                for try await reply in group { replies.append(reply) }
                return replies
            }
            #expect(Set(replies.map(\.data)).count == 1)
            #expect(replies.filter { !$0.isDuplicate }.count == 1)
            #expect(try await world.entries().count == 1)
        }
    }
}
