import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import Bookmarks

/// The service on a bus within the test, with a room of Alice and Bob with two messages, and a message in a room of others.
private struct BookmarksHarness: SuiteHarness {
    let serviceHarness: ServiceHarness<BookmarksService>
    let messaging: ServiceHarness<MessagingStandIn>

    static func serving(
        on database: (any Database)? = nil, _ body: (BookmarksHarness) async throws -> Void
    ) async throws {
        let messaging = try ServiceHarness<MessagingStandIn>()
        try messaging.bus.serveRooms(["room-1": ["alice", "bob"]])
        try await messaging.run {
            for message in ["message-1", "message-2"] {
                try await messaging.service.send(message, in: "room-1", of: ["alice", "bob"])
            }
            try await messaging.service.send("message-3", in: "room-2", of: ["carol", "dave"])
            try await serving(on: database, messaging, body)
        }
    }

    static func serving(
        on database: (any Database)?, _ messaging: ServiceHarness<MessagingStandIn>,
        _ body: (BookmarksHarness) async throws -> Void
    ) async throws {
        let service = try ServiceHarness<BookmarksService>(on: database, bus: messaging.bus)
        try await service.run {
            // So that `begin` does not run beside the test.
            try await service.service.follower.beginIfNew(BusContext(requestID: "test"))
            try await body(BookmarksHarness(serviceHarness: service, messaging: messaging))
        }
    }

    @discardableResult
    func add(_ message: String, by person: String = "alice") async throws -> Reply {
        try await ask("bookmarks.add", by: person) {
            $0.member("roomId", "room-1")
            $0.member("messageId", message)
        }
    }

    @discardableResult
    func remove(_ message: String, by person: String = "alice") async throws -> Reply {
        try await ask("bookmarks.remove", by: person) {
            $0.member("roomId", "room-1")
            $0.member("messageId", message)
        }
    }

    func list(by person: String = "alice") async throws -> [String?] {
        let listed = try await ask("bookmarks.list", by: person) { $0.member("roomId", "room-1") }
        return listed.data.array?.map { $0["messageId"]?.string } ?? []
    }

    /// Stores an unconfirmed bookmark of Alice, as `add` does before it asks.
    func insert(_ message: String, as attempt: String, upTo limit: Int = 10) async throws -> String? {
        let bookmark = Bookmark(messageID: message, createdAt: clock.now())
        return try await database.write {
            try BookmarksStore($0).insert(bookmark, as: attempt, in: "room-1", of: "alice", upTo: limit)
        }
    }

    /// Does what `add` does with an answer.
    func settle(_ attempt: String, exists: Bool) async throws -> Bool {
        try await database.write { try BookmarksStore($0).settle(attempt, exists: exists, of: "alice") }
    }

    /// Returns what a gateway shows of the room to a person: `[bookmarkCount]`, or null.
    func shown(to person: String) async throws -> String? {
        try await ask("bookmarks.contribute") {
            $0.member("userId", person)
            $0.member("roomIds", array: { $0.string("room-1") })
        }.data["rooms"]?.array?.first?.text
    }

    /// Waits for entries, and returns what they emit: the person, and the number of bookmarks.
    func emittedCounts(_ count: Int) async throws -> Set<String> {
        let entries = await waitForEntries(count)
        #expect(entries.count == count)
        let counts = try entries.map { entry in
            let emission = try #require(entry.emissions.first)
            let number = try #require(emission.data["bookmarkCount"]?.int)
            #expect(entry.roomID == "room-1" && emission.event == "bookmarks:changed")
            #expect(entry.participants.map { .person($0) } == [emission.audience])
            return "\(entry.participants[0]): \(number)"
        }
        return Set(counts)
    }
}

@Suite("Bookmarks")
struct BookmarksTests {
    @Test("who leaves a room has no bookmarks there any more, others keep theirs")
    func leaving() async throws {
        try await BookmarksHarness.serving { harness in
            try await harness.add("message-1")
            try await harness.add("message-1", by: "bob")
            let leaver = PeopleChange.Leaver(userID: "bob", username: "bob", firstName: nil)
            _ = try await harness.ask("bookmarks.fence") {
                $0.member("change", PeopleChange(roomID: "room-1", version: 1, left: [leaver]).json)
            }
            #expect(try await harness.list() == ["message-1"])
            #expect(try await harness.list(by: "bob") == [], "should he come back")
        }
    }

    @Test("only the person who has set a bookmark sees it, and only that person's sockets get the event")
    func bookmarks() async throws {
        try await BookmarksHarness.serving { harness in
            #expect(try await harness.add("message-1").status == .created)
            harness.clock.advance(by: .seconds(1))
            #expect(try await harness.add("message-2").status == .created)
            #expect(try await harness.emittedCounts(2) == ["alice: 1", "alice: 2"])
            #expect(try await harness.add("message-1").status == .ok)
            #expect(try await harness.list() == ["message-2", "message-1"])
            #expect(try await harness.list(by: "bob") == [])
            #expect(try await harness.shown(to: "alice") == "[2]")
            #expect(try await harness.shown(to: "bob") == "null")

            for _ in 1...2 { try await harness.remove("message-1") }
            #expect(try await harness.emittedCounts(1) == ["alice: 1"])
            #expect(try await harness.list() == ["message-2"])
        }
    }

    @Test("what is no message of the room is not bookmarked, nor are messages of rooms of others")
    func refusals() async throws {
        try await BookmarksHarness.serving { harness in
            for message in ["message-3", "none"] {
                try await harness.expect(.messageNotFound) { try await harness.add(message) }
            }
            try await harness.expect(.roomNotFound) { try await harness.add("message-1", by: "carol") }
            #expect(try await harness.database.read { try BookmarksStore($0).messageIDs() } == [])
        }
    }

    @Test("a person has a limited number of bookmarks in a room, and may set one again")
    func limit() async throws {
        try await BookmarksHarness.serving { harness in
            _ = try await harness.database.write { connection in
                for number in 1..<Bookmarks.maxInRoom {
                    let bookmark = Bookmark(messageID: "m\(number)", createdAt: Timestamp(milliseconds: 0))
                    let store = BookmarksStore(connection)
                    let attempt = try store.insert(
                        bookmark, as: "attempt-\(number)", in: "room-1", of: "alice", upTo: Bookmarks.maxInRoom)
                    let isConfirmed = try attempt.map { try store.settle($0, exists: true, of: "alice") }
                    #expect(isConfirmed == true)
                }
            }
            try await harness.add("message-1")
            try await harness.expect(.payloadTooLarge) { try await harness.add("message-2") }
            #expect(try await harness.add("message-1").status == .ok)
            #expect(try await harness.add("message-2", by: "bob").status == .created)
        }
    }

    @Test("a deleted message takes its bookmarks along, and each person gets an event")
    func deletion() async throws {
        try await BookmarksHarness.serving { harness in
            try await harness.add("message-1")
            try await harness.add("message-2")
            try await harness.add("message-1", by: "bob")
            _ = await harness.waitForEntries(3)
            try await harness.messaging.service.delete("message-1")
            #expect(try await harness.emittedCounts(2) == ["alice: 1", "bob: 0"])
            #expect(try await harness.list() == ["message-2"])
            #expect(try await harness.list(by: "bob") == [])
            try await harness.expect(.messageNotFound) { try await harness.add("message-1") }
        }
    }

    @Test("a message that is deleted between the write and the reply of messaging is not bookmarked")
    func deletionMeanwhile() async throws {
        try await BookmarksHarness.serving { harness in
            // As `add` does before it asks.
            let first = try await harness.insert("message-1", as: "first")
            let retry = try await harness.insert("message-1", as: "retry")
            #expect(first == "first" && retry == "first")
            #expect(try await harness.shown(to: "alice") == "null")
            try await harness.add("message-2")
            _ = await harness.waitForEntries(1)
            try await harness.messaging.service.delete("message-1")
            try await harness.messaging.service.delete("message-2")
            // The log is taken in order, so this is also after the first of them. Nobody knew of that one.
            #expect(try await harness.emittedCounts(1) == ["alice: 0"])
            // A reply from before the deletion does not confirm a later attempt.
            let second = try await harness.insert("message-1", as: "second")
            let late = try await harness.settle("first", exists: true)
            let settled = try await harness.settle("second", exists: false)
            #expect(second == "second" && !late && !settled)
            #expect(try await harness.database.read { try BookmarksStore($0).messageIDs() } == [])
        }
    }

    @Test("attempts that ended without a reply do not count against the limit for longer than a minute")
    func oldAttempts() async throws {
        try await BookmarksHarness.serving { harness in
            let first = try await harness.insert("none", as: "first", upTo: 1)
            let refused = try await harness.insert("message-1", as: "second", upTo: 1)
            harness.clock.advance(by: .seconds(61))
            let second = try await harness.insert("message-1", as: "second", upTo: 1)
            #expect(first == "first" && refused == nil && second == "second")
        }
    }

    @Test("a bookmark counts once messaging has answered, also after an attempt without a reply")
    func attempts() async throws {
        let bus = InProcessBus()
        try bus.serveRooms(["room-1": ["alice", "bob"]])
        let service = try ServiceHarness<BookmarksService>(bus: bus)
        let messaging = try ServiceHarness<MessagingStandIn>(bus: bus)
        let harness = BookmarksHarness(serviceHarness: service, messaging: messaging)
        try await service.run {
            try await harness.expect(.serviceUnavailable) { try await harness.add("message-1") }
            #expect(try await harness.list() == [])
            #expect(try await harness.shown(to: "alice") == "null")
            try await harness.remove("message-1")
            try await messaging.run {
                try await messaging.service.send("message-1", in: "room-1", of: ["alice", "bob"])
                #expect(try await harness.add("message-1").status == .created)
                #expect(try await harness.list() == ["message-1"])
                #expect(try await harness.shown(to: "alice") == "[1]")
            }
        }
    }

    @Test("after entries were lost, bookmarks of deleted messages are found and go")
    func lostEntries() async throws {
        let folder = TemporaryFolder()
        func open() throws -> any Database {
            try SQLiteDatabase(.file(folder.file("bookmarks.db")), migrations: BookmarksService.migrations)
        }
        try await BookmarksHarness.serving(on: open()) { harness in
            try await harness.add("message-1")
            try await harness.add("message-2")
            // Taken in order: from here on, a position in the log is stored.
            try await harness.messaging.service.send("message-4", in: "room-1", of: ["alice", "bob"])
            try await harness.add("message-4")
            _ = await harness.waitForEntries(3)
            try await harness.messaging.service.delete("message-4")
            #expect(try await harness.emittedCounts(1) == ["alice: 2"])
            await harness.serviceHarness.host.stop(within: .seconds(1))

            try await harness.messaging.service.delete("message-1")
            try await harness.messaging.service.send("message-5", in: "room-1", of: ["alice", "bob"])
            try await harness.messaging.service.prune(before: 7)
            try await BookmarksHarness.serving(on: open(), harness.messaging) { later in
                let (counts, listed) = (try await later.emittedCounts(1), try await later.list())
                #expect(counts == ["alice: 1"] && listed == ["message-2"])
                #expect(later.log.lines.contains { $0.contains("entries of a followed log are lost") })
            }
        }
    }
}
