import Foundation
import ParlorContracts
import ParlorEventLog
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

/// Two services with a number each: `a` keeps how many items a room has, and who is in a room; `b`
/// keeps nothing.
@Suite("Commands beside a running program")
struct CommandTests {
    private let temporary = TemporaryFolder()
    private var folder: String { temporary.path }
    private let printed = Collector<String>()

    private struct Items: Service, Verifiable, OwnsMembership {
        static let name = "items"
        static let migrations = [
            Migration(
                version: 1, name: "items",
                sql: """
                    CREATE TABLE counts (room TEXT PRIMARY KEY, count INTEGER NOT NULL);
                    CREATE TABLE items (room TEXT NOT NULL, member TEXT NOT NULL)
                    """)
        ]
        init(_ context: ServiceContext) {}
        func register(in requests: inout RequestTable) {}

        static func rooms(after id: String, limit: Int, on connection: any Connection) throws -> [String] {
            try connection.all("SELECT room FROM counts WHERE room > $1 ORDER BY room LIMIT $2", id, limit) {
                $0.text(0)
            }
        }

        static func people(
            of room: String, for service: String, on connection: any Connection
        ) throws -> RoomPeople {
            let members = try connection.all("SELECT member FROM items WHERE room = $1", room) { $0.text(0) }
            return RoomPeople(version: 1, userIDs: members, isChanging: members.contains("leaving"))
        }

        static func differences(
            in room: String, members: [String], on connection: any Connection
        ) throws -> [Discrepancy] {
            let kept = try connection.first("SELECT count FROM counts WHERE room = $1", room) { $0.int(0) }
            guard kept != members.count else { return [] }
            // A negative one stands for what cannot be repaired.
            let repair: (any Connection) throws -> Void = {
                try $0.execute("UPDATE counts SET count = $2 WHERE room = $1", room, members.count)
            }
            return [Discrepancy("items", kept: kept, counted: members.count, repair: kept ?? 0 < 0 ? nil : repair)]
        }
    }

    private struct Plain: Service {
        static let name = "plain"
        static let migrations: [Migration] = []
        init(_ context: ServiceContext) {}
        func register(in requests: inout RequestTable) {}
    }

    private static let services: [any Service.Type] = [Items.self, Plain.self]

    /// Runs a body with a data folder in use by a server, with a room for each count: it has one
    /// item.
    private func serve(_ counts: [Int], _ body: (SQLiteDatabase) async throws -> Void) async throws {
        let items = try SQLiteDatabase(.file("\(folder)/items.db"), migrations: Items.migrations)
        let plain = try SQLiteDatabase(.file("\(folder)/plain.db"), migrations: [])
        try await items.write { connection in
            for (number, count) in counts.enumerated() {
                let room = "room \(10_000 + number)"
                try connection.execute("INSERT INTO counts (room, count) VALUES ($1, $2)", room, count)
                try connection.execute("INSERT INTO items (room, member) VALUES ($1, 'ada')", room)
            }
        }
        try await body(items)
        await items.close()
        await plain.close()
    }

    private func verify(_ arguments: String..., expecting outcome: Command.Outcome) async throws {
        #expect(try await run(.verify(Self.services), arguments) == outcome)
    }

    private func backUp(_ arguments: String..., expecting outcome: Command.Outcome = .done) async throws {
        #expect(try await run(.backup(Self.services), arguments) == outcome)
    }

    private func run(_ command: Command, _ arguments: [String]) async throws -> Command.Outcome {
        let configuration = try Configuration(command.settings, arguments: ["--data", folder] + arguments)
        return try await command.perform(configuration) { printed.add($0) }
    }

    private func files(_ path: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }

    // MARK: A service's own

    @Test("a service's own command reads its database while it is in use")
    func own() async throws {
        let most = Setting("MOST", .number(1...9), default: "1", "Rooms to show")
        let command = Command.reading(Items.self, "rooms", "Lists rooms.", [most]) { connection, configuration, print in
            let rooms = try Items.rooms(after: "", limit: configuration[most], on: connection)
            for room in rooms { print(room) }
            return rooms.isEmpty ? .found : .done
        }
        try await serve([1, 1, 1]) { _ in
            let outcome = try await run(command, ["--most", "2"])
            #expect(outcome == .done && printed.takeAll() == ["room 10000", "room 10001"])
        }
    }

    @Test("a command does not create the database that it reads")
    func missing() async throws {
        let command = Command.reading(Items.self, "rooms", "Lists rooms.") { _, _, _ in .done }
        await #expect(throws: StorageError.self) { try await run(command, []) }
        #expect(try files(folder).isEmpty)
    }

    // MARK: The command line

    @Test("-h is no name: a command whose first argument needs no flag prints its help", arguments: ["-h", "--help"])
    func help(flag: String) async {
        for command in [Command.services, .forget, .tail] {
            #expect(await command.run(program: "parlor", arguments: [flag], environment: [:]) == 0)
        }
    }

    // MARK: verify

    @Test("correct data is reported as such, with the number of rooms")
    func right() async throws {
        try await serve(Array(repeating: 1, count: 450)) { _ in
            try await verify(expecting: .done)
            #expect(printed.items == ["items: 450 rooms counted, 0 differences", "all counts are right"])
        }
    }

    @Test("each difference has a line, in any service, and stays until it is repaired")
    func repairing() async throws {
        var counts = Array(repeating: 1, count: 450)
        (counts[0], counts[200], counts[449]) = (0, 2, 7)
        try await serve(counts) { items in
            let lines = [(10_000, 0), (10_200, 2), (10_449, 7)].map {
                "items: room room \($0): items: \($1) kept, 1 counted"
            }
            let total = "items: 450 rooms counted, 3 differences"
            try await verify(expecting: .found)
            #expect(printed.items == lines + [total, "3 differences, 0 repaired"])
            try await verify("--repair", expecting: .done)
            #expect(
                Array(printed.items.dropFirst(5)) == lines.map { "\($0); repaired" } + [
                    total, "3 differences, 3 repaired",
                ])
            try await verify(expecting: .done)
            // Caches of these rooms follow the log.
            let entries = try await EventLog(items).entries(since: 0, limit: 10)
            #expect(entries.map(\.roomID) == ["room 10000", "room 10200", "room 10449"])
            #expect(entries.allSatisfy { $0.participants == ["ada"] && $0.emissions.isEmpty })
        }
    }

    @Test("a difference that cannot be repaired is reported, and stays")
    func unmendable() async throws {
        try await serve([-1, 2]) { _ in
            try await verify("--repair", expecting: .found)
            #expect(printed.items.filter { $0.hasSuffix("; cannot be repaired") }.count == 1)
            #expect(printed.items.last == "2 differences, 1 repaired")
        }
    }

    @Test("a room whose people are changing is not counted", arguments: [[], ["--repair"]])
    func changing(arguments: [String]) async throws {
        try await serve([1, 1]) { items in
            try await items.write { try $0.execute("INSERT INTO items VALUES ('room 10001', 'leaving')") }
            #expect(try await run(.verify(Self.services), arguments) == .done)
            #expect(printed.items.last == "all counts are right")
        }
    }

    @Test("a change of a room's people while it is counted is no difference")
    func changed() async throws {
        try await serve([1]) { _ in
            let versions = Collector<Int>()
            let recount = Recount(
                service: Items.self, database: try DatabaseFile(existing: "\(folder)/items.db"),
                people: { _ in
                    versions.add(versions.items.count)
                    // The service counts who was there before.
                    return RoomPeople(version: versions.items.count, userIDs: [])
                }, clock: ManualClock(), print: { printed.add($0) })
            #expect(try recount.run(repairing: false) == Recount.Outcome(rooms: 1))
            #expect(printed.items == [])
        }
    }

    @Test("a folder without databases is an error, and stays without", arguments: ["verify", "backup"])
    func nothingThere(name: String) async throws {
        let command: Command = name == "verify" ? .verify(Self.services) : .backup(Self.services)
        await #expect(throws: StorageError.self) {
            try await run(command, [name == "verify" ? "--repair" : "--to=\(folder)-copy"])
        }
        #expect(try files(folder) == [])
        #expect(await command.run(program: "parlor", arguments: ["--data", folder + "/none"], environment: [:]) == 2)
        #expect(await command.run(program: "parlor", arguments: ["--help"], environment: [:]) == 0)
    }

    // MARK: backup

    @Test("a backup has every database and secret, with its mode, and nothing else")
    func backup() async throws {
        let (target, text) = ("\(folder)-copy", Data("hush".utf8))
        defer { try? FileManager.default.removeItem(atPath: target) }  // a temporary folder may stay
        for (name, mode) in [
            ("jwt.secret", 0o600), ("manifests.json", 0o644), ("jwt.secret.new-x", 0o600), (".x", 0o600),
            ("a.news", 0o600),
        ] {
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: mode]
            #expect(FileManager.default.createFile(atPath: "\(folder)/\(name)", contents: text, attributes: attributes))
        }
        #expect(FileManager.default.createFile(atPath: "\(folder)/items.db.lock", contents: nil))
        try FileManager.default.createDirectory(atPath: "\(folder)/inner", withIntermediateDirectories: false)
        let plugin = try SQLiteDatabase(.file("\(folder)/plugin.db"), migrations: [])
        try await serve([1, 1]) { _ in
            try await backUp("--to", target + "/", expecting: .done)
            #expect(
                try files(target) == ["a.news", "items.db", "jwt.secret", "manifests.json", "plain.db", "plugin.db"])
        }
        await plugin.close()
        for (name, mode) in [("jwt.secret", 0o600), ("manifests.json", 0o644), ("items.db", 0o600), ("", 0o700)] {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(target)/\(name)")
            #expect(attributes[.posixPermissions] as? Int == mode)
        }
        #expect(FileManager.default.contents(atPath: "\(target)/jwt.secret") == text)
        let restored = try SQLiteDatabase(.file("\(target)/items.db"), migrations: Items.migrations)
        #expect(try await restored.read { try Items.rooms(after: "", limit: 9, on: $0) }.count == 2)
        await restored.close()
    }

    @Test("a database that was moved is copied from where it is now, and the file that it left behind is not")
    func movedDatabase() async throws {
        let (target, elsewhere) = ("\(folder)-copy", TemporaryFolder())
        defer { try? FileManager.default.removeItem(atPath: target) }  // a temporary folder may stay
        try await serve([1]) { _ in }
        let moved = try SQLiteDatabase(.file("\(elsewhere.path)/items.db"), migrations: Items.migrations)
        let plain = try SQLiteDatabase(.file("\(elsewhere.path)/plain.db"), migrations: [])
        try await moved.write { connection in
            try connection.execute("INSERT INTO counts (room, count) VALUES ('a', 0), ('b', 0)")
        }
        try await backUp("--to", target, "--database-url", "sqlite:\(elsewhere.path)/", expecting: .done)
        let copy = try SQLiteDatabase(.file("\(target)/items.db"), migrations: Items.migrations)
        #expect(try await copy.read { try Items.rooms(after: "", limit: 9, on: $0) }.count == 2)
        for database in [moved, plain, copy] { await database.close() }
    }

    @Test("a folder with contents is left alone, an empty one is used")
    func target() async throws {
        let target = "\(folder)-copy"
        defer { try? FileManager.default.removeItem(atPath: target) }  // a temporary folder may stay
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: false)
        try await serve([1]) { _ in
            try await backUp("--to", target, expecting: .done)
            let before = try files(target)
            await #expect(throws: BackupError("\(target) is not empty")) { try await backUp("--to", target) }
            await #expect(throws: BackupError("\(target)/items.db is no folder")) {
                try await backUp("--to", "\(target)/items.db")
            }
            await #expect(throws: ConfigurationError.missingValue("--to")) { try await backUp() }
            #expect(try files(target) == before)
        }
    }

    @Test("a damaged database is reported, and a failed backup leaves nothing")
    func failed() async throws {
        let parent = "\(folder)/backups"
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: false)
        for name in ["a-fine.db", "damaged.db"] {
            let plugin = try SQLiteDatabase(.file("\(folder)/\(name)"), migrations: Items.migrations)
            try await plugin.write { connection in
                for n in 0..<5000 {
                    try connection.execute("INSERT INTO counts (room, count) VALUES ($1, 1)", "room \(n)")
                }
            }
            await plugin.close()
        }
        let handle = try #require(FileHandle(forUpdatingAtPath: "\(folder)/damaged.db"))
        try handle.seek(toOffset: try handle.seekToEnd() / 2)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: 40_000))
        try handle.close()
        try await serve([1]) { _ in
            let error = await #expect(throws: BackupError.self) { try await backUp("--to", "\(parent)/new") }
            #expect(error?.description.hasPrefix("\(folder)/damaged.db cannot be copied: ") == true)
        }
        #expect(try files(parent) == [])
    }
}
