import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import Polls

/// The service on a bus within the test, with a room of Alice and Bob, and a message there and in a room of others.
private struct PollsHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<PollsService>
    let messaging: ServiceHarness<MessagingStandIn>

    static func serving(_ settings: [String] = [], _ body: (PollsHarness) async throws -> Void) async throws {
        let service = try ServiceHarness<PollsService>(settings)
        try service.bus.serveRooms(["room-1": ["alice", "bob"]])
        let messaging = try ServiceHarness<MessagingStandIn>(bus: service.bus)
        try await messaging.run {
            try await messaging.service.send("message-1", in: "room-1", of: ["alice", "bob"])
            try await messaging.service.send("message-2", in: "room-2", of: ["carol", "dave"])
            try await service.run { try await body(PollsHarness(serviceHarness: service, messaging: messaging)) }
        }
    }

    @discardableResult
    func create(
        by person: String = "alice", choices: [String] = ["yes", "no"], about message: String? = nil
    ) async throws -> Reply {
        try await ask("polls.create", by: person) {
            $0.member("roomId", "room-1")
            $0.member("question", "Lunch?")
            $0.name("choices")
            $0.array(of: choices) { $0.string($1) }
            $0.member("messageId", message)
        }
    }

    @discardableResult
    func vote(_ choice: Int, in poll: String, by person: String) async throws -> Reply {
        try await ask("polls.vote", by: person) {
            $0.member("roomId", "room-1")
            $0.member("pollId", poll)
            $0.member("choice", choice)
        }
    }

    /// Returns what a gateway shows of the room to a person: `[pollCount, badge]`.
    func shown(to person: String) async throws -> JSONValue {
        try await ask("polls.contribute") {
            $0.member("userId", person)
            $0.name("roomIds")
            $0.array(of: ["room-1"]) { $0.string($1) }
        }.data["rooms"]?.array?.first ?? .null
    }

    /// Returns what a gateway shows of messages: for each `[poll]`, or null.
    func shown(on messages: String...) async throws -> String? {
        try await ask("polls.messages") {
            $0.member("userId", "bob")
            $0.name("messageIds")
            $0.array(of: messages) { $0.string($1) }
        }.data["messages"]?.text
    }
}

@Suite("Polls")
struct PollsTests {
    @Test("the room gets a new poll, and everyone but its author a badge until they vote")
    func badges() async throws {
        try await PollsHarness.serving { harness in
            let poll = try await harness.create().data
            let created = try #require(harness.takeEntries().first)
            #expect(created.emissions.map(\.event) == ["poll:created", "room:badges"])
            #expect(created.emissions[1].audience == .person("bob"))
            #expect(created.emissions[1].data["badges"]?["polls"] == JSONValue(1))
            #expect(try await harness.shown(to: "bob") == JSONValue(parsing: "[1,1]"))
            #expect(try await harness.shown(to: "alice") == JSONValue(parsing: "[1,0]"))

            let voted = try await harness.vote(1, in: try #require(poll["id"]?.string), by: "bob").data
            #expect(voted["choices"]?.array?.map { $0["votes"]?.int } == [0, 1])
            let entry = try #require(harness.takeEntries().first)
            #expect(entry.emissions.map(\.event) == ["poll:voted", "room:badges"])
            #expect(entry.emissions[1].data["badges"]?["polls"] == JSONValue(0))
            #expect(try await harness.shown(to: "bob") == JSONValue(parsing: "[1,0]"))
        }
    }

    @Test("a person has one vote, and the metric counts each that was given")
    func voting() async throws {
        try await PollsHarness.serving { harness in
            let id = try #require(try await harness.create().data["id"]?.string)
            for choice in [0, 1, 1] { try await harness.vote(choice, in: id, by: "alice") }
            let listed = try await harness.ask("polls.list", by: "bob") { $0.member("roomId", "room-1") }
            #expect(listed.data.array?.first?["choices"]?.array?.map { $0["votes"]?.int } == [0, 1])
            #expect(harness.metrics.text().contains("polls_votes_total 3"))
        }
    }

    @Test("strangers, unknown polls and choices, and too many polls are refused")
    func refusals() async throws {
        try await PollsHarness.serving(["--max-room-polls", "1"]) { harness in
            let id = try #require(try await harness.create().data["id"]?.string)
            try await harness.expect(.payloadTooLarge) { try await harness.create() }
            try await harness.expect(.roomNotFound) { try await harness.create(by: "carol") }
            try await harness.expect(.roomNotFound) { try await harness.vote(0, in: id, by: "carol") }
            try await harness.expect(.invalidField) { try await harness.vote(2, in: id, by: "bob") }
            try await harness.expect(.pollNotFound) { try await harness.vote(0, in: "none", by: "bob") }
            for choices in [["yes"], ["yes", "yes"], ["yes", ""]] {
                try await harness.expect(.invalidField) { try await harness.create(choices: choices) }
            }
        }
    }

    @Test("a message shows the newest poll about it, and each vote changes what it shows")
    func messageField() async throws {
        try await PollsHarness.serving { harness in
            let older = try #require(try await harness.create(about: "message-1").data["id"]?.string)
            let poll = try await harness.create(about: "message-1").data
            let id = try #require(poll["id"]?.string)
            #expect(poll["messageId"]?.string == "message-1")
            try await harness.create()
            func field(votes: Int) -> String { #"[[{"id":"\#(id)","question":"Lunch?","votes":\#(votes)}],null]"# }
            #expect(try await harness.shown(on: "message-1", "message-2") == field(votes: 0))

            for person in ["alice", "bob", "bob"] { try await harness.vote(1, in: id, by: person) }
            try await harness.vote(0, in: older, by: "bob")
            #expect(try await harness.shown(on: "message-1", "message-2") == field(votes: 2))
            // Without the fact, gateways would show the field that they have cached.
            let facts = harness.takeEntries().map(\.fact)
            let changed = Fact.fieldsChanged(messageIDs: ["message-1"])
            #expect(facts == [changed, changed, nil, changed, changed, changed, changed])
        }
    }

    @Test("a new poll is about a message of its room that was not deleted, and stays when the message is deleted")
    func messages() async throws {
        try await PollsHarness.serving { harness in
            for other in ["message-2", "none", "\0"] {
                try await harness.expect(.messageNotFound) { try await harness.create(about: other) }
            }
            let poll = try await harness.create(about: "message-1").data
            try await harness.messaging.service.delete("message-1")
            try await harness.expect(.messageNotFound) { try await harness.create(about: "message-1") }
            await harness.messaging.host.stop(within: .seconds(1))
            try await harness.expect(.serviceUnavailable) { try await harness.create(about: "message-1") }
            let listed = try await harness.ask("polls.list", by: "bob") { $0.member("roomId", "room-1") }
            #expect(listed.data.array == [poll])
        }
    }

    @Test("polls of the first version stay, and are about no message")
    func migration() async throws {
        let folder = TemporaryFolder()
        func open(_ migrations: [Migration]) throws -> SQLiteDatabase {
            try SQLiteDatabase(.file(folder.file("polls.db")), migrations: migrations)
        }
        let poll = Poll(
            id: "p", question: "Lunch?", choices: ["yes", "no"], votes: [0, 0], createdBy: "alice",
            createdAt: Timestamp(milliseconds: 5))
        let before = try open(Array(PollsSchema.migrations.prefix(1)))
        _ = try await before.write {
            try $0.execute(
                """
                INSERT INTO polls (id, room_id, question, choices, created_by, created_at)
                VALUES ('p', 'room-1', 'Lunch?', '["yes","no"]', 'alice', 5)
                """)
        }
        await before.close()
        let after = try open(PollsSchema.migrations)
        #expect(try await after.read { try PollsStore($0).polls(of: "room-1") } == [poll])
        await after.close()
    }
}
