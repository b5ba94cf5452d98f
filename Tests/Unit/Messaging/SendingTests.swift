import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@Suite("Sending a message")
struct SendingTests {
    @Test("the answer is the message as the contract shows it, with its position in the log")
    func answer() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let reply = try await harness.send(" hello\n", by: "alice", in: room, tempID: "key")
            let id = try #require(reply.data["id"]?.string)
            #expect(reply.status == .created && !reply.isDuplicate)
            #expect(reply.position == EntryPosition(log: "messaging", seq: 1))
            #expect(
                reply.data.text == """
                    {"id":"\(id)","roomId":"room","seq":1,"senderId":"alice",\
                    "sender":{"id":"alice","username":"alice.name","firstName":"ALICE"},"receiverId":"bob",\
                    "text":"hello","content":"hello","createdAt":"2023-11-14T22:13:20.000Z",\
                    "readStatus":false,"readCount":0,"readBy":[],"tempId":"key","editedAt":null,"version":1,\
                    "replyTo":null,"reactions":[],"attachments":[]}
                    """)
            #expect(try await harness.list(by: "bob", in: room).messages == [reply.data])
            #expect(harness.rooms.asked == ["rooms.membership"], "who is in the room is asked once, and nothing else")
        }
    }

    @Test("the room gets the message, and everyone its ids and time; the sender's typing ends")
    func events() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let reply = try await harness.send(by: "alice", in: room)
            let id = try #require(reply.data["id"]?.string)
            let entry = try #require(harness.takeEntries().first)
            #expect(entry.seq == reply.position?.seq && entry.roomID == room)
            #expect(entry.participants == ["alice", "bob"])
            let emissions = entry.emissions
            #expect(emissions.map(\.event) == ["message:new", "message:new:global"])
            #expect(emissions.map(\.audience) == [.room, .everyone])
            #expect(emissions.map(\.endsTypingOf) == ["alice", nil])
            #expect(emissions[0].data.text == #"{"message":\#(reply.data)}"#)
            #expect(
                emissions[1].data.text == """
                    {"roomId":"room","messageId":"\(id)","senderId":"alice",\
                    "messagesUpdatedAt":"2023-11-14T22:13:20Z"}
                    """)
        }
    }

    @Test("`content` is accepted for `text`, under the same rules", arguments: [nil, "null"])
    func content(text: String?) async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            func send(_ content: JSONValue) async throws -> Reply {
                try await harness.ask("messaging.send", by: "alice") {
                    $0.member("roomId", room)
                    if let text { $0.member("text", JSONValue(trusted: Array(text.utf8))) }
                    $0.member("content", content)
                }
            }
            #expect(try await send(JSONValue("hello")).data["text"]?.string == "hello")
            try await harness.expect(.invalidField) { try await send(JSONValue(" ")) }
            try await harness.expect(.malformedRequest) { try await send(JSONValue(5)) }
        }
    }

    @Test(
        "a text has 1 to 4,000 Unicode scalars after trimming, and no control characters",
        arguments: [
            ("x", nil), (" " + String(repeating: "🎉", count: 4000) + "\u{2003}\n", nil), ("tab\tand\nline", nil),
            ("", .invalidField), (" \n\t", .invalidField), (String(repeating: "é", count: 4001), .invalidField),
            ("bell\u{7}", .invalidField), ("nul\0", .invalidField), ("c1\u{9f}", .invalidField),
        ] as [(String, ErrorCode?)])
    func length(text: String, refusal: ErrorCode?) async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            try await harness.expect(refusal) { try await harness.send(text, by: "alice", in: room) }
            #expect(try await harness.list(by: "bob", in: room).messages.count == (refusal == nil ? 1 : 0))
            #expect(harness.takeEntries().count == (refusal == nil ? 1 : 0))
        }
    }

    @Test("a retry returns the first message in its current state, also with another text, and emits nothing")
    func retry() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let first = try await harness.send("once", by: "alice", in: room, tempID: "key")
            _ = try await harness.send(by: "bob", in: room)
            let before = try await harness.contribution(to: [room], for: "bob")
            harness.clock.advance(by: .seconds(1))
            let again = try await harness.send("twice", by: "alice", in: room, tempID: "key")
            #expect(again.status == .ok && again.isDuplicate && again.data == first.data)
            #expect(again.position?.seq == 2, "it waits for all emitted events, including the first one's")
            #expect(harness.takeEntries().count == 2)
            #expect(try await harness.contribution(to: [room], for: "bob") == before)

            let id = try #require(first.data["id"]?.string)
            _ = try await harness.read([id], by: "bob", in: room)
            let late = try await harness.send(by: "alice", in: room, tempID: "key")
            #expect(late.data["readStatus"]?.bool == true)
        }
    }

    @Test("a `tempId` is scoped to its sender and its room, and a refused send doesn't use it up")
    func tempID() async throws {
        try await MessagingHarness.serving { harness in
            let (room, other) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")
            )
            try await harness.expect(.invalidField) {
                try await harness.send(" ", by: "alice", in: room, tempID: "key")
            }
            for (person, roomID) in [("alice", room), ("bob", room), ("alice", other)] {
                #expect(try await harness.send(by: person, in: roomID, tempID: "key").status == .created)
            }
            for bad in ["", String(repeating: "x", count: 65)] {
                try await harness.expect(.invalidField) { try await harness.send(by: "alice", in: room, tempID: bad) }
            }
        }
    }

    @Test("concurrent sends with one `tempId` make one message")
    func parallelRetries() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let replies = try await withThrowingTaskGroup(of: Reply.self) { group in
                for _ in 0..<20 { group.addTask { try await harness.send(by: "alice", in: room, tempID: "key") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(replies.map(\.data)).count == 1)
            #expect(replies.filter { !$0.isDuplicate }.count == 1)
            #expect(harness.takeEntries().count == 1)
            // The others have taken no place, and are counted for nobody.
            #expect(try await harness.send(by: "alice", in: room).data["seq"]?.int == 2)
            #expect(try await harness.unread(of: "bob", in: room) == 2)
        }
    }

    @Test(
        "a retry repeats nothing of what was committed with it, also for a deleted message and its deletion",
        .timeLimit(.minutes(1)))
    func retryAmongOthers() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            _ = try await harness.send(by: "alice", in: room, tempID: "key")
            let deleted = try await harness.send(by: "alice", in: room, tempID: "deleted").data["id"]?.string
            _ = try await harness.delete(try #require(deleted), by: "alice", in: room)
            let gate = DatabaseGate()
            let held = await harness.database.close(gate)
            let runs = Collector<Void>()
            let writes: [@Sendable () async throws -> Void] = [
                { try await harness.database.write { _ in runs.add(()) } },
                { _ = try await harness.send(by: "bob", in: room) },
                {
                    let again = try await harness.send(by: "alice", in: room, tempID: "key")
                    #expect(again.isDuplicate && again.data["seq"]?.int == 1)
                },
                {
                    try await harness.expect(.messageNotFound) {
                        try await harness.send(by: "alice", in: room, tempID: "deleted")
                    }
                },
                {
                    try await harness.expect(.messageNotFound) {
                        try await harness.delete(try #require(deleted), by: "alice", in: room)
                    }
                },
                { _ = try await harness.send(by: "bob", in: room) },
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (queued, write) in writes.enumerated() {
                    group.addTask { try await write() }
                    while harness.database.statistics.queuedWrites == queued { await Task.yield() }
                }
                try gate.open()
                try await group.waitForAll()
            }
            try await held.value
            #expect(runs.items.count == 1)
            #expect(try await harness.send(by: "alice", in: room).data["seq"]?.int == 5)
            #expect(try await harness.unread(of: "bob", in: room) == 2)
            #expect(try await harness.unread(of: "alice", in: room) == 2)
        }
    }

    @Test("a retry of a deleted message is refused, and emits nothing")
    func retryAfterDeletion() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let id = try #require(try await harness.send(by: "alice", in: room, tempID: "key").data["id"]?.string)
            _ = try await harness.delete(id, by: "alice", in: room)
            _ = harness.takeEntries()
            let before = try await harness.contribution(to: [room], for: "bob")
            harness.clock.advance(by: .seconds(1))
            try await harness.expect(.messageNotFound) { try await harness.send(by: "alice", in: room, tempID: "key") }
            #expect(harness.takeEntries().isEmpty)
            #expect(try await harness.contribution(to: [room], for: "bob") == before)
        }
    }

    @Test("`seq` counts from 1 in each room, in the order of ids and times, also while the clock goes back")
    func order() async throws {
        try await MessagingHarness.serving { harness in
            let (room, other) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")
            )
            for step in [0, -5, 3, 0, -60, 1] {
                harness.clock.advance(by: .seconds(step))
                _ = try await harness.send(by: "alice", in: room)
                _ = try await harness.send(by: "bob", in: other)
            }
            for room in [room, other] {
                let messages = try await harness.list(by: "bob", in: room).messages
                #expect(messages.ints("seq") == [1, 2, 3, 4, 5, 6])
                let (ids, times) = (messages.strings("id").compactMap(\.self), messages.strings("createdAt"))
                #expect(ids == ids.sorted() && ids.count == 6)
                #expect(times.compactMap(\.self) == times.compactMap(\.self).sorted())
            }
        }
    }

    @Test("concurrent sends get numbers without gaps, and are emitted in their order")
    func concurrentSends() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<100 {
                    group.addTask { _ = try await harness.send(by: ["alice", "bob"][number % 2], in: room) }
                }
                try await group.waitForAll()
            }
            let emitted = harness.takeEntries().map { $0.emissions[0].data["message"] ?? .null }
            #expect(emitted.ints("seq") == Array(1...100))
            #expect(try await harness.list(by: "bob", in: room, ["limit": "200"]).messages == emitted)
            #expect(try await harness.unread(of: "alice", in: room) == 50)
        }
    }

    @Test(
        "only participants can send, and others don't learn that the room exists",
        arguments: ["room", "nowhere", "nul\0"])
    func strangers(roomID: String) async throws {
        try await MessagingHarness.serving { harness in
            _ = harness.rooms.make("room", "alice", "bob")
            try await harness.expect(.roomNotFound) { try await harness.send(by: "carol", in: roomID) }
            #expect(harness.takeEntries().isEmpty)
        }
    }

    @Test("in a room of three, `receiverId` is null, and a message is read once both others have read it")
    func three() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            let message = try await harness.send(by: "alice", in: room).data
            #expect(message["receiverId"]?.isNull == true)
            let id = try #require(message["id"]?.string)
            _ = try await harness.read([id], by: "bob", in: room)
            #expect(try await harness.list(by: "alice", in: room).messages[0]["readStatus"]?.bool == false)
            _ = try await harness.read([id], by: "carol", in: room)
            #expect(try await harness.list(by: "alice", in: room).messages[0]["readStatus"]?.bool == true)
        }
    }
}
