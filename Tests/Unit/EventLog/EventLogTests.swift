import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("The event log")
struct EventLogTests {
    private let folder = TemporaryFolder()
    private static let end = Timestamp(milliseconds: .max)

    private static func emissions(_ n: Int) -> [Emission] { [Emission(to: .room, "e", JSONValue(n))] }

    private func append(_ count: Int, to database: any Database, at time: Int = 0) async throws {
        for n in 0..<count {
            try await database.write {
                try EventLog.append(
                    at: Timestamp(milliseconds: time + n), roomID: "r", participants: ["a", "b\""],
                    emissions: Self.emissions(n), on: $0)
            }
        }
    }

    @Test("entries are read back as written, after a position and up to a limit", arguments: Engine.allCases)
    func entries(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let log = EventLog(database)
        #expect(try await log.head() == 0)
        #expect(try await log.oldest() == nil)
        #expect(try await log.entries(since: 0, limit: 10) == [])
        try await append(5, to: database, at: 1000)
        #expect(try await log.head() == 5)
        #expect(try await log.oldest() == 1)
        let found = try await log.entries(since: 2, limit: 2)
        #expect(
            found
                == [3, 4].map { seq in
                    LogEntry(
                        seq: seq, at: Timestamp(milliseconds: 999 + seq), roomID: "r", participants: ["a", "b\""],
                        emissions: Self.emissions(seq - 1))
                })
        #expect(try await log.entries(since: 5, limit: 10) == [])
    }

    @Test("the log reads the entries of some rooms up to a position", arguments: Engine.allCases)
    func ofRooms(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for n in 1...9 {
            try await database.write {
                try EventLog.append(
                    at: Timestamp(milliseconds: n), roomID: "room \(n % 3)", participants: [], emissions: [], on: $0)
            }
        }
        func found(_ rooms: [String], since: Int = 0, through: Int = .max, limit: Int = 10) async throws -> (
            [Int], Bool
        ) {
            try await database.read {
                let found = try EventLog(database).entries(
                    since: since, through: through, ofRooms: rooms[...], limit: limit, on: $0)
                return (found.entries.map(\.seq), found.isWhole)
            }
        }
        #expect(try await found(["room 0", "room 1"]) == ([1, 3, 4, 6, 7, 9], true))
        #expect(try await found(["room 0", "room 1"], limit: 6) == ([1, 3, 4, 6, 7, 9], true))
        #expect(try await found(["room 0", "room 1"], limit: 5) == ([1, 3, 4, 6, 7], false))
        #expect(try await found(["room 1"], since: 1, through: 6) == ([4], true))
        #expect(try await found([]) == ([], true))
        #expect(try await database.read { try EventLog(database).newest(on: $0)?.seq } == 9)
        #expect(try await database.read { try EventLog(database).entry(at: 4, on: $0)?.roomID } == "room 1")
        #expect(try await database.read { try EventLog(database).entry(at: 10, on: $0) } == nil)
    }

    @Test("an event to a person outside of the room is in an entry without a room", arguments: Engine.allCases)
    func outsiders(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let stranger = #"we"i\rd_%1"#
        @Sendable func to(_ person: String, _ event: String, _ composition: Emission.Composition? = nil) -> Emission {
            Emission(to: .person(person), event, .emptyObject, composition: composition)
        }
        let fact = Fact.fieldsChanged(messageIDs: ["m"], personIDs: [])
        let seq = try await database.write {
            _ = try EventLog.append(
                at: Timestamp(milliseconds: 1), roomID: "r", participants: ["a", "b"],
                emissions: [to("b", "inside")], on: $0)
            return try EventLog.append(
                at: Timestamp(milliseconds: 2), roomID: "r", participants: ["a", "b"],
                emissions: [
                    to("c", "one"), Emission(to: .room, "all", .emptyObject), to(stranger, "two"), to("a", "mine"),
                    to("d", "badges", .badges),
                ], fact: fact, requestID: "q", on: $0)
        }
        #expect(seq == 3)
        let entries = try await EventLog(database).entries(since: 0, limit: 10)
        #expect(entries.map(\.roomID) == ["r", "r", ""])
        #expect(entries.map { $0.emissions.map(\.event) } == [["inside"], ["all", "mine", "badges"], ["one", "two"]])
        #expect(entries.map { $0.fact != nil } == [false, true, false])
        #expect(entries.map(\.participants) == [["a", "b"], ["a", "b"], []])
        #expect(entries.map(\.requestID) == [nil, "q", "q"])
        func found(_ rooms: [String], _ person: String?) async throws -> [Int] {
            try await database.read {
                try EventLog(database).entries(since: 0, ofRooms: rooms[...], to: person, limit: 10, on: $0).entries
                    .map(\.seq)
            }
        }
        #expect(try await found(["q", ""], "c") == [3])
        #expect(try await found(["q", ""], stranger) == [3])
        #expect(try await found(["r", ""], "a") == [1, 2])
        #expect(try await found(["q", ""], nil) == [3])
        #expect(try await found(["r"], "c") == [1, 2])
    }

    @Test("a limit in bytes applies, but at least one entry is returned", arguments: Engine.allCases)
    func byteLimit(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await append(5, to: database)
        let log = EventLog(database)
        let size = Self.emissions(0).json.bytes.count
        #expect(try await log.entries(since: 0, limit: 10, maxBytes: 1).map(\.seq) == [1])
        #expect(try await log.entries(since: 0, limit: 10, maxBytes: 3 * (size + 2 * 40)).map(\.seq) == [1, 2, 3])
    }

    @Test("an entry that no line of the bus could hold is refused, and its write undone", arguments: Engine.allCases)
    func tooLong(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await append(1, to: database)
        func appendEntry(ofBytes count: Int) async throws {
            try await database.write { connection in
                _ = try EventLog.append(
                    at: Timestamp(milliseconds: 1), roomID: "r", participants: [],
                    emissions: [Emission(to: .room, "e", JSONValue(String(repeating: "x", count: count)))],
                    on: connection)
            }
        }
        await #expect(throws: EntryTooLong.self) { try await appendEntry(ofBytes: 1_000_000) }
        #expect(try await EventLog(database).head() == 1)
        try await appendEntry(ofBytes: 999_000)
        #expect(try await EventLog(database).head() == 2)
    }

    @Test("pruning is by age, and keeps the newest entry", arguments: Engine.allCases)
    func pruning(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let log = EventLog(database)
        #expect(try await log.prune(olderThan: Self.end) == 0)
        try await append(10, to: database, at: 100)
        #expect(try await log.prune(olderThan: Timestamp(milliseconds: 100)) == 0)
        #expect(
            try await log.prune(olderThan: Timestamp(milliseconds: 103)) == 2,
            "where everyone stood at 103 is the third")
        #expect(try await log.oldest() == 3)
        #expect(try await log.prune(olderThan: Self.end) == 7)
        #expect(try await log.entries(since: 0, limit: 10).map(\.seq) == [10])
        try await append(1, to: database)
        #expect(try await log.head() == 11)
    }

    @Test("one call prunes more than one batch", arguments: [Engine.temporary])
    func pruningMany(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await database.write { connection in
            for n in 0..<2500 {
                try EventLog.append(
                    at: Timestamp(milliseconds: n), roomID: "r", participants: [], emissions: [], on: connection)
            }
        }
        #expect(try await EventLog(database).prune(olderThan: Timestamp(milliseconds: 2400)) == 2399)
        #expect(try await EventLog(database).oldest() == 2400)
    }

    @Test("positions continue after a restart", arguments: [Engine.file])
    func restart(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await append(3, to: database)
        try await EventLog(database).prune(olderThan: Self.end)
        await database.close()
        let again = try engine.open(in: folder)
        try await append(1, to: again)
        #expect(try await EventLog(again).head() == 4)
        #expect(again.databaseID == database.databaseID)
    }
}
