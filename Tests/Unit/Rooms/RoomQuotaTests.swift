import ParlorContracts
import ParlorServiceKitTesting
import ParlorStorage
import Testing

@testable import ParlorRooms

@Suite("the number of rooms that a person may create")
struct RoomQuotaTests {
    private static let few = ["--max-unanswered-rooms", "2"]

    @Test("with people who never answered is limited; once they have written, or made a room too, it is not")
    func unanswered() async throws {
        try await RoomsHarness.serving(Self.few) { harness in
            var ids: [String] = []
            for _ in 1...2 { ids.append(try await harness.room(harness.alice, with: harness.bob)) }
            #expect(harness.messaging.asked.isEmpty, "nobody is asked before it matters")
            let refusal = await failure { try await harness.create(harness.alice, with: harness.bob) }
            #expect(refusal?.code == .rateLimited && (refusal?.retryAfter ?? 0) > 0)
            #expect(harness.messaging.asked == [ids])
            #expect(try await harness.list(of: harness.bob).roomIDs.count == 2)
            // Nobody else is refused for it.
            _ = try await harness.room(harness.alice, with: harness.carol)
            _ = try await harness.room(harness.carol, with: harness.bob)
            harness.messaging.write()
            for _ in 1...3 { _ = try await harness.room(harness.alice, with: harness.bob) }
        }
        try await RoomsHarness.serving(Self.few) { harness in
            for _ in 1...2 { _ = try await harness.room(harness.alice, with: harness.bob) }
            _ = try await harness.room(harness.bob, with: harness.alice)
            for _ in 1...3 { _ = try await harness.room(harness.alice, with: harness.bob) }
            #expect(harness.messaging.asked.isEmpty)
        }
    }

    @Test("counts groups, and an answer in one")
    func groups() async throws {
        try await RoomsHarness.serving(Self.few) { harness in
            let ids = [
                try await harness.group(harness.alice, harness.bob, harness.carol),
                try await harness.group(harness.alice, harness.bob),
            ]
            let refusal = await failure { try await harness.create(harness.alice, with: harness.bob) }
            #expect(refusal?.code == .rateLimited)
            #expect(harness.messaging.asked == [ids])
            harness.messaging.write()
            _ = try await harness.room(harness.alice, with: harness.bob)
        }
    }

    @Test("while Messaging is down is unavailable to creators with many unanswered rooms")
    func messagingDown() async throws {
        try await RoomsHarness.serving(Self.few) { harness in
            harness.messaging.takeDown()
            for _ in 1...2 { _ = try await harness.room(harness.alice, with: harness.bob) }
            let away = await failure { try await harness.create(harness.alice, with: harness.bob) }
            #expect(away?.code == .serviceUnavailable)
        }
    }

    @Test("is limited over all people together, and a retry of the last one is still answered")
    func total() async throws {
        try await RoomsHarness.serving(["--max-rooms-per-person", "2"]) { harness in
            _ = try await harness.room(harness.alice, with: harness.bob)
            let last = try await harness.create(harness.alice, with: harness.carol, clientRequestID: "k")
            let refusal = await failure { try await harness.create(harness.alice, with: harness.bob) }
            #expect(refusal?.code == .payloadTooLarge)
            let again = try await harness.create(harness.alice, with: harness.carol, clientRequestID: "k")
            #expect(try again.isDuplicate && again.roomID == last.roomID)
            // Those that others make with her are theirs.
            _ = try await harness.room(harness.bob, with: harness.alice)
        }
    }

    @Test("without limits is not counted")
    func off() async throws {
        try await RoomsHarness.serving(Self.few + ["--max-rooms-per-person", "3", "--rate-limits", "off"]) { harness in
            for _ in 1...5 { _ = try await harness.room(harness.alice, with: harness.bob) }
        }
    }

    @Test("includes rooms from before it was counted")
    func migrated() async throws {
        let old = try SQLiteDatabase(.temporary, migrations: [RoomsService.migrations[0]])
        try await old.write { connection in
            for id in ["alice", "bob", "carol"] {
                try connection.execute("INSERT INTO people (id, username) VALUES ($1, $1)", id)
            }
            for (room, creator, other) in [("1", "alice", "bob"), ("2", "alice", "bob"), ("3", "carol", "alice")] {
                try connection.execute("INSERT INTO rooms VALUES ($1, NULL, $2, 0, 0)", room, creator)
                for (index, person) in [creator, other].enumerated() {
                    try connection.execute("INSERT INTO participants VALUES ($1, $2, $3, 0)", room, index, person)
                }
            }
            for migration in RoomsService.migrations.dropFirst() {
                for statement in migration.sql.split(separator: ";") { try connection.execute(String(statement)) }
            }
        }
        let made = try await old.read { try RoomsStore($0).made(by: "alice", with: "bob") }
        #expect(made.all == 2 && made.withOther == 2 && made.byOther == 0)
        let other = try await old.read { try RoomsStore($0).made(by: "alice", with: "carol") }
        #expect(other.all == 2 && other.withOther == 0 && other.byOther == 1)
        await old.close()
    }
}
