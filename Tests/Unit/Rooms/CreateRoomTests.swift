import ParlorContracts
import ParlorJSON
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorRooms

@Suite("Creating a room")
struct CreateRoomTests {
    @Test("gives the room, its creator first, and emits to each participant, then to everyone")
    func create() async throws {
        try await RoomsHarness.serving { harness in
            let reply = try await harness.create(harness.alice, with: harness.bob, name: " Team ")
            let now = harness.clock.now()
            let room = try #require(reply.data.object)
            #expect(reply.status == .created && !reply.isDuplicate)
            #expect(room["name"]?.string == "Team" && room["displayName"]?.string == "Team")
            #expect(room["createdBy"]?.string == harness.alice.id)
            #expect(room["createdAt"]?.int == now.milliseconds && room["updatedAt"]?.int == now.milliseconds)
            let membership = try #require(
                Membership(
                    JSONWriter.object {
                        $0.member("roomId", room["id"])
                        $0.member("participants", room["participants"])
                    }))
            #expect(
                membership.participants == [
                    Participant(
                        userID: harness.alice.id, username: "alice", firstName: "Alice", joinedAt: now, role: .owner),
                    Participant(userID: harness.bob.id, username: "bob", firstName: nil, joinedAt: now),
                ])

            let entry = try #require(try await harness.entries().first)
            #expect(reply.position == EntryPosition(log: "rooms", seq: entry.seq))
            #expect(entry.roomID == membership.roomID && entry.participants == membership.userIDs)
            #expect(entry.fact == .roomCreated)
            let emissions = entry.emissions
            #expect(emissions.map(\.event) == ["room:created", "room:created", "room:created:global"])
            #expect(
                emissions.map(\.audience) == [.person(harness.alice.id), .person(harness.bob.id), .everyone])
            #expect(emissions.map(\.composition) == [.room, .room, nil])
            #expect(emissions[0].data == reply.data && emissions[1].data == reply.data, "the room as it is then")
            #expect(
                emissions[2].data.text
                    == #"{"roomId":"\#(membership.roomID)","createdBy":"\#(harness.alice.id)"}"#)
        }
    }

    @Test("makes another one each time, also when the clock stands, with ids in that order")
    func another() async throws {
        try await RoomsHarness.serving { harness in
            var ids: [String] = []
            for (creator, other) in [
                (harness.alice, harness.bob), (harness.bob, harness.alice), (harness.alice, harness.bob),
            ] {
                ids.append(try await harness.room(creator, with: other, name: "same"))
            }
            #expect(Set(ids).count == 3 && ids == ids.sorted())
        }
    }

    @Test(
        "is refused without another person",
        arguments: [
            "nobody", "", "nul\0", "00000000-0000-7000-8000-00000000000b\0", String(repeating: "x", count: 9999),
        ])
    func nobody(id: String) async throws {
        try await RoomsHarness.serving { harness in
            let error = await failure {
                try await harness.create(harness.alice, with: Caller(id: id, username: "", firstName: nil))
            }
            #expect(error == .userNotFound)
            try await harness.expectNothingHappened()
        }
    }

    @Test("is refused with oneself, with an invalid name, and without a person to share it with")
    func refused() async throws {
        try await RoomsHarness.serving { harness in
            let oneself = await failure { try await harness.create(harness.alice, with: harness.alice) }
            #expect(oneself?.code == .invalidField)
            #expect(oneself?.message.contains("otherUserId") == true)
            let nameless = await failure { try await harness.create(harness.alice, with: harness.bob, name: "\u{1}") }
            #expect(nameless?.code == .invalidField)
            #expect(nameless?.message.contains("name") == true)
            let missing = await failure { try await harness.ask("rooms.create", by: harness.alice) }
            #expect(missing == .missing("otherUserId"))
            try await harness.expectNothingHappened()
        }
    }

    @Test("needs Accounts, which nothing else does")
    func accountsDown() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob)
            harness.accounts.takeDown()
            let away = await failure { try await harness.create(harness.alice, with: harness.bob) }
            #expect(away?.code == .serviceUnavailable && away?.retryAfter != nil)
            #expect(try await harness.list(of: harness.bob).roomIDs == [id])
            #expect(try await harness.get(id, by: harness.bob).roomID == id)
            #expect(try await harness.rename(id, "still here", by: harness.bob).data["name"]?.string == "still here")
        }
    }

    @Test("takes a creator whom Accounts doesn't know from the token")
    func foreignCreator() async throws {
        try await RoomsHarness.serving { harness in
            harness.accounts.forget(harness.carol)
            let reply = try await harness.create(harness.carol, with: harness.bob)
            #expect(reply.data["displayName"]?.string == "Carol & bob")
        }
    }

    @Test("updates the names of its participants in all their rooms")
    func renamedPerson() async throws {
        try await RoomsHarness.serving { harness in
            let id = try await harness.room(harness.alice, with: harness.bob)
            harness.accounts.add(Caller(id: harness.bob.id, username: "bob", firstName: "Robert"))
            _ = try await harness.room(harness.carol, with: harness.bob)
            #expect(try await harness.get(id, by: harness.alice).data["displayName"]?.string == "Alice & Robert")
            // Everyone who sees the name gets a log entry; the new room's participants get theirs as usual.
            let entries = try await harness.entries()
            try #require(entries.count == 3)
            #expect(entries[1].participants.sorted() == [harness.alice.id, harness.bob.id, harness.carol.id])
            #expect(entries[1].roomID.isEmpty && entries[1].emissions.isEmpty)
            _ = try await harness.room(harness.carol, with: harness.bob)
            #expect(try await harness.entries().count == 4, "no name has changed")
            for (name, count) in [("Ren\u{E9}", 6), ("Rene\u{301}", 8)] {
                harness.accounts.add(Caller(id: harness.bob.id, username: "bob", firstName: name))
                _ = try await harness.room(harness.carol, with: harness.bob)
                #expect(try await harness.entries().count == count, "another spelling is another name")
            }
        }
    }

    @Test("with a repeated clientRequestId gives that room again, also while Accounts is down")
    func repeated() async throws {
        try await RoomsHarness.serving { harness in
            let first = try await harness.create(
                harness.alice, with: harness.bob, name: "first", clientRequestID: "key")
            harness.accounts.takeDown()
            let again = try await harness.create(
                harness.alice, with: harness.carol, name: "again", clientRequestID: "key")
            #expect(again.data == first.data)
            #expect(again.status == .ok && again.isDuplicate && again.position == nil)
            #expect(try await harness.entries().count == 1)
        }
    }

    @Test("with a clientRequestId is scoped to its creator")
    func keysOfOthers() async throws {
        try await RoomsHarness.serving { harness in
            let mine = try await harness.create(harness.alice, with: harness.bob, clientRequestID: "key")
            let his = try await harness.create(harness.bob, with: harness.alice, clientRequestID: "key")
            #expect(his.status == .created)
            #expect(mine.data["id"] != his.data["id"])
        }
    }

    @Test("with one clientRequestId, sent many times at once, makes one room")
    func repeatedAtOnce() async throws {
        try await RoomsHarness.serving { harness in
            let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 0..<20 {
                    group.addTask { try await harness.create(harness.alice, with: harness.bob, clientRequestID: "key") }
                }
                var replies: [Reply] = []
                for try await reply in group { replies.append(reply) }
                return replies
            }
            #expect(Set(replies.map(\.data)).count == 1)
            #expect(replies.filter { !$0.isDuplicate }.count == 1)
            #expect(try await harness.entries().count == 1)
        }
    }
}
