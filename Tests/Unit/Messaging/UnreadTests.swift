import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorMessaging

@Suite("Unread messages")
struct UnreadTests {
    private func ask(
        _ harness: MessagingHarness, _ people: [(person: String, messages: [String])]
    ) async throws -> [JSONValue] {
        let reply = try await harness.ask("messaging.unread", by: nil) { json in
            json.name("people")
            json.array(of: people) { json, asked in
                json.object {
                    $0.member("userId", asked.person)
                    $0.name("messageIds")
                    $0.array(of: asked.messages) { $0.string($1) }
                }
            }
        }
        return try #require(reply.data["people"]?.array)
    }

    @Test("the service returns a person's total over all rooms, and the unread ones of given messages")
    func totals() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = [harness.rooms.make("r1", "alice", "bob"), harness.rooms.make("r2", "alice", "bob")]
            let read = try await harness.sent("read", by: "alice", in: rooms[0])
            let deleted = try await harness.sent("deleted", by: "alice", in: rooms[0])
            let unread = try await harness.sent("unread", by: "alice", in: rooms[1])
            _ = try await harness.sent("another", by: "alice", in: rooms[0])
            _ = try await harness.read([read], by: "bob", in: rooms[0])
            _ = try await harness.delete(deleted, by: "alice", in: rooms[0])
            let emitted = try await ask(
                harness, [("bob", [read, deleted, unread, "unknown"]), ("alice", [unread]), ("nobody", [])])
            #expect(emitted.ints("unread") == [2, 0, 0])
            let messages = try emitted.map { try #require($0["messages"]?.array).map { $0["text"]?.string } }
            #expect(messages == [[nil, nil, "unread", nil], [nil], []])
            let found = emitted[0]["messages"]?.array?[2]
            #expect(found?["seq"]?.int == 1 && found?["senderId"]?.string == "alice")
        }
    }

    @Test(
        "concurrent sends, reads and deletions are counted as if one after the other", .timeLimit(.minutes(1)))
    func together() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = ["r1", "r2"].map { harness.rooms.make($0, "alice", "bob") }
            for round in 0..<20 {
                let room = rooms[round % 2]
                let read = try await harness.sent("read", by: "alice", in: room)
                let deleted = try await harness.sent("deleted", by: "alice", in: room)
                // What comes until the gate opens is committed together.
                let gate = DatabaseGate()
                let held = await harness.database.close(gate)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<10 {
                        for room in rooms {
                            group.addTask { _ = try await harness.sent("kept", by: "alice", in: room) }
                        }
                    }
                    group.addTask { _ = try await harness.read([read], by: "bob", in: room) }
                    group.addTask { _ = try await harness.delete(deleted, by: "alice", in: room) }
                    while harness.database.statistics.queuedWrites < 22 { await Task.yield() }
                    try gate.open()
                    try await group.waitForAll()
                }
                try await held.value
            }
            #expect(try await ask(harness, [("bob", []), ("alice", [])]).ints("unread") == [400, 0])
            // Each badge is the count as it was at that place in the log.
            var unread: [String: Int] = [:]
            var badges = 0
            for entry in harness.takeEntries().sorted(by: { $0.seq < $1.seq }) {
                for emission in entry.emissions {
                    switch emission.event {
                    case "message:new": unread[entry.roomID, default: 0] += 1
                    case "messages:read", "message:deleted": unread[entry.roomID, default: 0] -= 1
                    case "room:badges":
                        badges += 1
                        #expect(emission.data["badges"]?["messages"]?.int == unread[entry.roomID])
                    default: break
                    }
                }
            }
            #expect(badges == 40)
            let lastSeqs = try await harness.database.read { connection in
                try connection.all("SELECT last_seq FROM chats ORDER BY room_id") { $0.int(0) }
            }
            #expect(lastSeqs == [220, 220])
        }
    }

    @Test("a long text is cut between characters")
    func long() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let id = try await harness.sent("x" + String(repeating: "é", count: 3999), by: "alice", in: room)
            let text = try await ask(harness, [("bob", [id])])[0]["messages"]?.array?.first?["text"]?.string
            #expect(text == "x" + String(repeating: "é", count: 2047))
        }
    }

    @Test("an answer that would be too long is refused")
    func tooMany() async throws {
        try await MessagingHarness.serving { harness in
            let ids = (0...64).map { "\($0)" }
            try await harness.expect(.invalidField) {
                _ = try await ask(harness, [("bob", ids)])
                return Reply()
            }
            try await harness.expect(.invalidField) {
                _ = try await ask(harness, [("bob", Array(ids.prefix(40))), ("alice", Array(ids.prefix(40)))])
                return Reply()
            }
        }
    }
}
