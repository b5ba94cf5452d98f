import ParlorContracts
import ParlorJSON
import ParlorStorage
import Testing

@testable import ParlorMessaging

@Suite("People who come to a room and leave it")
struct MembersTests {
    private static func confirm(_ change: PeopleChange, _ harness: MessagingHarness) async throws {
        _ = try await harness.ask("messaging.fence") { $0.member("change", change.json) }
    }

    /// Changes the room's people, as Rooms has it confirmed.
    private static func change(
        _ room: String, to people: [String], version: Int, joined: [String] = [], left: [String] = [],
        _ harness: MessagingHarness
    ) async throws {
        harness.rooms.change(room, to: people, version: version)
        let leavers = left.map { PeopleChange.Leaver(userID: $0, username: "\($0).name", firstName: nil) }
        try await confirm(
            PeopleChange(
                roomID: room, version: version, joined: joined, left: leavers, isLast: people.isEmpty), harness)
    }

    private static func unreadTotal(of person: String, _ harness: MessagingHarness) async throws -> Int {
        try await harness.database.read { try ChatsStore($0).unreadTotal(of: person) }
    }

    @Test("who comes has nothing to read of before, and everything after; who leaves has nothing at all")
    func counts() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            let before = try await harness.sent("before", by: "alice", in: room)
            try await Self.change(
                room, to: ["alice", "bob", "carol", "dave"], version: 2, joined: ["dave"], harness)
            #expect(try await harness.unread(of: "dave", in: room) == 0)
            _ = try await harness.read([before], by: "dave", in: room)
            #expect(try await harness.unread(of: "dave", in: room) == 0)
            let after = try await harness.send("after", by: "bob", in: room)
            #expect(try await harness.unread(of: "dave", in: room) == 1)
            let fields = try await harness.contribution(to: [room], for: "dave").first?.array
            #expect(fields?[3].int == after.data["seq"]?.int)
            #expect(try await harness.unread(of: "carol", in: room) == 2)
            try await Self.change(room, to: ["alice", "bob", "dave"], version: 3, left: ["carol"], harness)
            #expect(try await Self.unreadTotal(of: "carol", harness) == 0)
            try await Self.change(
                room, to: ["alice", "bob", "dave", "carol"], version: 4, joined: ["carol"], harness)
            #expect(try await Self.unreadTotal(of: "carol", harness) == 0)
            _ = try await harness.delete(before, by: "alice", in: room)
            for (person, count) in [("alice", 1), ("bob", 0), ("carol", 0), ("dave", 1)] {
                #expect(try await harness.unread(of: person, in: room) == count, "\(person)")
            }
            let differences = try await harness.database.read {
                try MessagingService.differences(in: room, members: ["alice", "bob", "carol", "dave"], on: $0)
                    .map(\.text)
            }
            #expect(differences == [])
        }
    }

    @Test("a fence that comes again, or too late, changes nothing")
    func repeated() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            _ = try await harness.sent(by: "alice", in: room)
            try await Self.change(room, to: ["alice", "bob", "carol", "dave"], version: 3, joined: ["dave"], harness)
            _ = try await harness.sent(by: "alice", in: room)
            let late = PeopleChange(
                roomID: room, version: 2,
                left: [PeopleChange.Leaver(userID: "bob", username: "bob.name", firstName: nil)])
            try await Self.confirm(late, harness)
            try await Self.confirm(PeopleChange(roomID: room, version: 3, joined: ["dave"]), harness)
            #expect(try await harness.unread(of: "bob", in: room) == 2)
            #expect(try await harness.unread(of: "dave", in: room) == 1)
        }
    }

    @Test("a request of who has left is refused, and one of who has come succeeds, whatever record was cached")
    func stale() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            _ = try await harness.sent(by: "carol", in: room)
            try await Self.change(room, to: ["alice", "bob", "dave"], version: 2, left: ["carol"], harness)
            try await harness.expect(.roomNotFound) { try await harness.send(by: "carol", in: room) }
            #expect(try await harness.send(by: "dave", in: room).status == .created)
            let entry = try #require(harness.takeEntries().last)
            #expect(entry.participants == ["alice", "bob", "dave"])
        }
    }

    @Test("a message shows who sent it after they have left, and is read once those have read it who are still there")
    func senders() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob", "carol")
            let id = try await harness.sent("mine", by: "carol", in: room)
            _ = try await harness.read([id], by: "bob", in: room)
            try await Self.change(
                room, to: ["alice", "bob", "dave"], version: 2, joined: ["dave"], left: ["carol"], harness)
            var message = try #require(try await harness.list(by: "bob", in: room).messages.first)
            #expect(message["sender"]?["username"]?.string == "carol.name")
            #expect(message["readStatus"]?.bool == false)
            _ = try await harness.read([id], by: "alice", in: room)
            message = try #require(try await harness.list(by: "bob", in: room).messages.first)
            #expect(message["readStatus"]?.bool == true && message["readCount"]?.int == 2)
        }
    }

    @Test("in a room of more than twenty a receipt concerns its reader and the senders alone")
    func largeRoom() async throws {
        try await MessagingHarness.serving { harness in
            let people = (0..<21).map { "person \($0)" }
            let room = harness.rooms.make("room", people)
            let id = try await harness.sent(by: people[3], in: room)
            _ = harness.takeEntries()
            _ = try await harness.read([id], by: people[7], in: room)
            let entry = try #require(harness.takeEntries().last)
            #expect(entry.participants == [people[3], people[7]])
            #expect(entry.emissions.first { $0.event == "messages:read" }?.isNarrow == true)
        }
    }

    @Test("the messages of a room that everybody has left are deleted")
    func deleted() async throws {
        try await MessagingHarness.serving { harness in
            let (room, other) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")
            )
            let id = try await harness.sent(by: "alice", in: room)
            _ = try await harness.read([id], by: "bob", in: room)
            _ = try await harness.sent(by: "alice", in: other)
            try await Self.change(room, to: [], version: 2, left: ["alice", "bob"], harness)
            let cleaner = RoomCleaner(database: harness.database, log: .silent)
            while try await !cleaner.clean() {}
            for table in ["messages", "chats"] {
                let rows = try await harness.database.read { connection in
                    try connection.first("SELECT count(*) FROM \(table)") { $0.int(0) }
                }
                #expect(rows == 1, "\(table)")
            }
            #expect(try await harness.database.read { try $0.exists("SELECT 1 FROM receipts") } == false)
        }
    }
}
