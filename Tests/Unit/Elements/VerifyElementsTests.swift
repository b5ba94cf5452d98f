import ParlorJSON
import ParlorServiceKit
import ParlorStorage
import Testing

@testable import ParlorElements

/// Rows are damaged by hand; the findings and repairs are compared with the service's earlier
/// state.
@Suite("Recounting elements")
struct VerifyElementsTests {
    private static let room = ElementsHarness.room
    private static let bob = ElementsHarness.bob

    /// Three elements of Alice's, one of them changed; one of Bob's. With deleting: one more of
    /// Alice's that was deleted.
    private func fill(_ harness: ElementsHarness, deleting: Bool = true) async throws {
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try await harness.create().text("id")) }
        _ = try await harness.create(by: Self.bob)
        harness.clock.advance(by: .seconds(1))
        _ = try await harness.ask("elements.update", #"{"elementId":"\#(ids[0])","content":{}}"#)
        harness.clock.advance(by: .seconds(1))
        guard deleting else { return }
        let gone = try await harness.create().text("id")
        _ = try await harness.ask("elements.delete", #"{"elementId":"\#(gone)"}"#)
    }

    private func repair(_ harness: ElementsHarness) async throws {
        try await harness.database.write { connection in
            for difference in try ElementsService.differences(
                in: Self.room, members: [ElementsHarness.alice, Self.bob], on: connection)
            {
                try difference.repair?(connection)
            }
        }
    }

    @Test("the service's own data passes: after changes, deletions, a clearing, and openings")
    func right() async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness, deleting: false)
            #expect(try await harness.countedAgain() == [])
            try await fill(harness)
            #expect(try await harness.countedAgain() == [])
            _ = try await harness.ask("elements.clear")
            #expect(try await harness.badge(of: Self.bob) == 7, "seen or not, it was made")
            #expect(try await harness.countedAgain() == [])
            _ = try await harness.presence(of: Self.bob, on: "g1", isOpen: true)
            _ = try await harness.create()
            #expect(try await harness.countedAgain() == [])
            _ = try await harness.presence(of: Self.bob, on: "g1", isOpen: false)
            _ = try await harness.create()
            #expect(try await harness.badge(of: Self.bob) == 1)
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test(
        "a wrong number is reported, and repaired",
        arguments: [
            ("UPDATE boards SET element_count = 9", "elements: 9 kept, 4 counted"),
            ("UPDATE boards SET element_count = -1", "elements: -1 kept, 4 counted"),
            ("UPDATE boards SET bytes = 7", "bytes of elements: 7 kept, 2056 counted"),
            ("UPDATE unseen SET count = 7 WHERE user_id = 'bob'", "unseen elements of bob: 7 kept, 4 counted"),
            ("UPDATE unseen SET count = 0 WHERE user_id = 'alice'", "unseen elements of alice: 0 kept, 1 counted"),
            ("DELETE FROM unseen WHERE user_id = 'bob'", "unseen elements of bob: nothing kept, 4 counted"),
            (
                "INSERT INTO unseen VALUES ('room-1', 'eve', 2)",
                "unseen elements of eve, who has left: 2 kept, 0 counted"
            ),
            (
                "INSERT INTO unseen_elements VALUES ('room-1', 'eve', 1)",
                "unseen elements of eve, who has left: nothing kept, 0 counted"
            ),
        ])
    func damage(sql: String, text: String) async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            try await harness.database.write { try $0.execute(sql) }
            #expect(try await harness.countedAgain() == [text])
            try await repair(harness)
            #expect(try await harness.countedAgain() == [])
            #expect(try await harness.badge(of: Self.bob) == 4)
            #expect(try await harness.badge(of: ElementsHarness.alice) == 1)
            #expect(try await harness.contribution(for: Self.bob)?.elementCount == 4)
        }
    }

    @Test("a board of a room that is gone is reported, and stays: the rooms may be those of an older backup")
    func gone() async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            let found = try await harness.database.read { connection in
                try ElementsService.differences(in: Self.room, members: [], on: connection)
                    .map { "\($0.text), \($0.repair == nil)" }
            }
            #expect(found == ["boards of a room that is gone: 1 kept, 0 counted, true"])
        }
    }

    @Test("only so many unseen elements have rows; the badge counts all of them, and opening the room removes all")
    func manyUnseen() async throws {
        try await ElementsHarness.serving { harness in
            let many = BoardStore.maxUnseenRows + 3
            for _ in 0..<many { _ = try await harness.create() }
            let rows = "SELECT count(*) FROM unseen_elements"
            #expect(try await harness.database.read { try $0.first(rows) { $0.int(0) } } == BoardStore.maxUnseenRows)
            #expect(try await harness.badge(of: Self.bob) == many)
            #expect(try await harness.countedAgain() == [])
            try await harness.database.write { try $0.execute("UPDATE unseen SET count = 7") }
            #expect(
                try await harness.countedAgain() == [
                    "unseen elements of bob: 7 kept, \(BoardStore.maxUnseenRows) counted"
                ])
            try await repair(harness)
            #expect(try await harness.countedAgain() == [])
            _ = try await harness.presence(of: Self.bob, on: "g1", isOpen: true)
            #expect(try await harness.badge(of: Self.bob) == 0)
            #expect(try await harness.database.read { try $0.first(rows) { $0.int(0) } } == 0)
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test("a revision is at least that of the newest element")
    func revision() async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            // Four creations and one update of what is still there.
            try await harness.database.write { try $0.execute("UPDATE boards SET rev = 4") }
            #expect(try await harness.countedAgain().first == "revision: 4 kept, at least 5 counted")
            try await repair(harness)
            try await repair(harness)
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test("a time is that of the last change, or later if something was deleted", arguments: [false, true])
    func times(deleting: Bool) async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness, deleting: deleting)
            for move in [-60_000, 60_000] {
                try await harness.database.write {
                    try $0.execute("UPDATE boards SET changed_at = changed_at + $1", move)
                }
                let found = try await harness.countedAgain()
                if deleting && move > 0 {
                    #expect(found == [], "the time of the deletion is unknown")
                } else {
                    #expect(found.count == 1 && found[0].hasPrefix("time of the last change: "))
                }
                try await repair(harness)
                #expect(try await harness.countedAgain() == [])
            }
        }
    }

    @Test(
        "a wrong quota account is reported, and repaired",
        arguments: [
            (
                "UPDATE people SET element_count = 9, bytes = 7 WHERE user_id = 'alice'",
                [
                    "elements of alice in all rooms: 9 kept, 4 counted",
                    "bytes of alice's elements in all rooms: 7 kept, 2056 counted",
                ]
            ),
            (
                "UPDATE people SET bytes = -1 WHERE user_id = 'bob'",
                ["bytes of bob's elements in all rooms: -1 kept, 514 counted"]
            ),
            (
                "DELETE FROM people WHERE user_id = 'bob'",
                [
                    "elements of bob in all rooms: nothing kept, 1 counted",
                    "bytes of bob's elements in all rooms: nothing kept, 514 counted",
                ]
            ),
            ("INSERT INTO people VALUES ('eve', 2, 0)", ["elements of eve in all rooms: 2 kept, 0 counted"]),
        ])
    func accounts(sql: String, texts: [String]) async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            try await harness.database.write { try $0.execute(sql) }
            #expect(try await harness.countedAgain() == texts)
            try await harness.database.write { connection in
                for difference in try ElementsService.differencesOfPeople(on: connection) {
                    try difference.repair?(connection)
                }
            }
            #expect(try await harness.countedAgain() == [])
        }
    }

    @Test("rows written by an earlier version meanwhile are counted by their content, and repaired")
    func earlierVersion() async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            let other = try await harness.create(by: ElementsHarness.alice, #","content":{"text":"é"}"#).text("id")
            try await harness.database.write { connection in
                // A creation, and an update that leaves the size alone.
                try connection.execute(
                    """
                    INSERT INTO elements
                        (id, room_id, rank, type, content, created_by, created_at, updated_by, updated_at, version)
                    SELECT 'old', $1, rev + 1, 'note', '{"text":"é"}', 'bob', changed_at, 'bob', changed_at, 1
                    FROM boards WHERE room_id = $1
                    """, Self.room)
                try connection.execute(
                    "UPDATE boards SET element_count = element_count + 1, rev = rev + 1 WHERE room_id = $1", Self.room)
                try connection.execute("UPDATE elements SET content = '{}' WHERE id = $1", other)
            }
            let found = try await harness.countedAgain()
            #expect(found.contains("bytes of element old: 0 kept, 525 counted"))
            #expect(found.contains("bytes of element \(other): 525 kept, 514 counted"))
            #expect(found.contains("who element old counts for: nobody kept, bob counted"))
            #expect(found.contains("bytes of elements: 2581 kept, 3095 counted"))
            try await repair(harness)
            try await harness.database.write { connection in
                for difference in try ElementsService.differencesOfPeople(on: connection) {
                    try difference.repair?(connection)
                }
            }
            #expect(try await harness.countedAgain() == [])
            // Counted in characters, as the migration did: near enough.
            try await harness.database.write {
                try $0.execute("UPDATE elements SET size = length(content) + 512 WHERE id = 'old'")
            }
            #expect(try await harness.countedAgain().contains { $0.contains("element old") } == false)
        }
    }

    @Test("a person with the room open has nothing unseen")
    func present() async throws {
        try await ElementsHarness.serving { harness in
            _ = try await harness.presence(of: Self.bob, on: "g1", isOpen: true)
            _ = try await harness.create()
            try await harness.database.write { connection in
                try connection.execute(
                    "INSERT INTO unseen (room_id, user_id, count) VALUES ($1, $2, 3)", Self.room, Self.bob)
                try connection.execute(
                    "INSERT INTO unseen_elements (room_id, user_id, rank) VALUES ($1, $2, 1)", Self.room, Self.bob)
            }
            let text = "unseen elements of bob, who has the room open: 3 kept, 0 counted"
            #expect(try await harness.countedAgain() == [text])
            try await repair(harness)
            #expect(try await harness.countedAgain() == [])
            #expect(try await harness.badge(of: Self.bob) == 0)
        }
    }

    @Test("a missing board is created again")
    func board() async throws {
        try await ElementsHarness.serving { harness in
            try await fill(harness)
            _ = try await harness.create(in: ElementsHarness.otherRoom)
            try await harness.database.write { try $0.execute("DELETE FROM boards WHERE room_id = $1", Self.room) }
            #expect(try await harness.countedAgain() == ["elements: nothing kept, 4 counted"])
            let rooms = try await harness.database.read { try ElementsService.rooms(after: "", limit: 9, on: $0) }
            #expect(rooms == [Self.room, ElementsHarness.otherRoom])
            try await repair(harness)
            #expect(try await harness.countedAgain() == [])
            #expect(try await harness.countedAgain(ElementsHarness.otherRoom) == [])
        }
    }

    @Test(
        "badges from before unseen elements were stored can be counted, too, and end when the room is opened")
    func migrated() async throws {
        let old = try SQLiteDatabase(.temporary, migrations: [ElementsService.migrations[0]])
        try await old.write { connection in
            try connection.execute(
                "INSERT INTO unseen (room_id, user_id, count) VALUES ('r', 'bob', 3), ('r', 'eve', 1)")
            try connection.execute("INSERT INTO boards (room_id, element_count, rev, changed_at) VALUES ('r', 0, 8, 0)")
            try connection.execute(
                """
                INSERT INTO elements (id, room_id, rank, type, content, created_by, created_at, updated_by, updated_at, version)
                VALUES ('e', 'r', 8, 'note', '{"a":1}', 'bob', 0, 'bob', 0, 1)
                """)
            try connection.execute("UPDATE boards SET element_count = 1")
            for migration in ElementsService.migrations.dropFirst() {
                for statement in migration.sql.split(separator: ";") { try connection.execute(String(statement)) }
            }
        }
        let bytes = try await old.read { try $0.first("SELECT bytes FROM boards") { $0.int(0) } }
        #expect(bytes == 519)
        let found = try await old.read { connection in
            let ofRoom = try ElementsService.differences(in: "r", members: ["bob", "eve"], on: connection)
            return try (ofRoom + ElementsService.differencesOfPeople(on: connection)).map(\.text)
        }
        #expect(found == [])
        let account = try await old.read { try CountsStore($0).accounts() }
        #expect(account == ["bob": CountsStore.Account(elements: 1, bytes: 519)])
        let ranks = try await old.read {
            try $0.all("SELECT rank FROM unseen_elements WHERE user_id = 'bob' ORDER BY rank") { $0.int(0) }
        }
        #expect(ranks == [-2, -1, 0])
        await old.close()
    }
}
