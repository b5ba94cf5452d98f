import Foundation
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("Migrations")
struct MigrationTests {
    private let folder = TemporaryFolder()
    private let first = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY)")
    private let second = Migration(
        version: 2, name: "numbers",
        sql: "ALTER TABLE items ADD COLUMN n INTEGER; UPDATE items SET n = 7; CREATE INDEX items_n ON items (n)")

    private func open(_ migrations: [Migration]) throws -> any Database {
        try SQLiteDatabase(.file(folder.file("test.db")), migrations: migrations)
    }

    @Test("missing migrations are applied, once and in order")
    func applies() async throws {
        let database = try open([first])
        try await database.insert("a")
        await database.close()
        for _ in 0..<2 {
            let database = try open([first, second])
            #expect(try await database.read { try $0.all("SELECT n FROM items") { $0.int(0) } } == [7])
            await database.close()
        }
    }

    @Test("programs that start on one database at the same time all open it, and one migrates it")
    func together() async throws {
        for round in 0..<20 {
            let path = folder.file("\(round).db")
            let migrations = [first, second]
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await onThread { try SQLiteDatabase(.file(path), migrations: migrations) }.databaseID
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(ids.count == 1)
        }
    }

    @Test("a database of a newer program is left alone")
    func newer() async throws {
        await (try open([first, second])).close()
        let error = #expect(throws: MigrationError.self) { try open([first]) }
        #expect(error == .databaseIsNewer(schema: "service", version: 2, known: 1))
        #expect(error?.description.contains("newer") == true)
    }

    @Test("an applied migration whose text has changed is refused, and nothing after it is applied")
    func changed() async throws {
        await (try open([first])).close()
        let other = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT)")
        #expect(throws: MigrationError.changed(schema: "service", version: 1, name: "items")) {
            try open([other, second])
        }
        let database = try open([first])
        #expect(try await database.ids() == [])
    }

    @Test("a failed migration leaves the database as it was")
    func fails() async throws {
        let database = try open([first])
        for id in ["a", "A"] { try await database.insert(id) }
        await database.close()
        let impossible = Migration(
            version: 2, name: "impossible",
            sql: "CREATE TABLE others (id TEXT); CREATE UNIQUE INDEX items_id ON items (lower(id))")
        #expect(throws: StorageError.unique("items_id")) { try open([first, impossible]) }
        let again = try open([first, second])
        #expect(try await again.ids() == ["A", "a"])
    }

    // MARK: Conversions

    /// Moves items to a table with a number for each, in the order of their ids, and a text of so many bytes.
    private func converting(
        filling bytes: Int = 1 << 17, _ body: @escaping @Sendable (Int) throws -> Void = { _ in }
    ) -> Migration {
        Migration(version: 2, name: "numbers", sql: "CREATE TABLE numbered (n INTEGER PRIMARY KEY, id TEXT, more TEXT)")
        {
            connection, converted in
            let more = String(repeating: "x", count: bytes)
            for (n, id) in try connection.all("SELECT id FROM items ORDER BY id", body: { $0.text(0) }).enumerated() {
                try connection.executeLater("INSERT INTO numbered (n, id, more) VALUES ($1, $2, $3)", n, id, more)
                try body(n)
                converted(60_000)
            }
        }
    }

    private func fill(_ engine: Engine) async throws {
        let database = try engine.open([first], in: folder)
        for id in ["b", "a", "c"] { try await database.insert(id) }
        await database.close()
    }

    private func numbered(_ database: any Database) async throws -> [String] {
        try await database.read { try $0.all("SELECT id FROM numbered ORDER BY n") { $0.text(0) } }
    }

    @Test("rows are converted once, and every 100,000 of them are reported", arguments: Engine.lasting)
    func converts(engine: Engine) async throws {
        try await fill(engine)
        let reports = Collector<Int>()
        var configuration = DatabaseConfiguration()
        configuration.onConversion = { reports.add($0) }
        for _ in 0..<2 {
            let database = try engine.open([first, converting()], configuration: configuration, in: folder)
            #expect(try await numbered(database) == ["a", "b", "c"])
            await database.close()
        }
        #expect(reports.items == [120_000])
    }

    @Test(
        "a conversion that fails or ends with its process changes nothing, and starts again", arguments: Engine.lasting)
    func ends(engine: Engine) async throws {
        try await fill(engine)
        struct Failure: Error {}
        for last in 0..<3 {
            #expect(throws: Failure.self) {
                try engine.open([first, converting { if $0 == last { throw Failure() } }], in: folder)
            }
            let old = try engine.open([first], in: folder)
            #expect(try await old.ids() == ["a", "b", "c"])
            await old.close()
        }
        let database = try engine.open([first, converting()], in: folder)
        #expect(try await numbered(database) == ["a", "b", "c"])
        await database.close()
    }

    @Test(
        "a process that is killed at any moment of a conversion leaves a database that is converted at the next start")
    func killed() async throws {
        try await fill(.file)
        let copies = Collector<TemporaryFolder>()
        let source = folder
        let last = Migration(version: 3, name: "last", sql: "DROP TABLE items") { _, _ in
            copies.add(try source.copyAsAfterACrash())
        }
        let migrations = [
            first, converting(filling: 6 << 20) { _ in copies.add(try source.copyAsAfterACrash()) }, last,
        ]
        let done = try Engine.file.open(migrations, in: folder)
        copies.add(try folder.copyAsAfterACrash())
        await done.close()
        #expect(copies.items.count == 5)
        for (index, copy) in copies.items.enumerated() {
            if index == 3 {
                let log = try FileManager.default.attributesOfItem(atPath: copy.file("test.db-wal"))
                #expect(log[.size] as? Int ?? 0 > 0, "it has a part of the transaction")
            }
            let database = try Engine.file.open(migrations, in: copy)
            #expect(try await numbered(database) == ["a", "b", "c"])
            await database.close()
        }
    }

    @Test("a conversion without space says how much it needs, and changes nothing", arguments: [2, 3])
    func noSpace(version: Int) async throws {
        try await fill(.file)
        var configuration = DatabaseConfiguration()
        configuration.maxPages = 40
        // Either the conversion itself is too long, or a step after it.
        let short = Migration(version: 2, name: "short", sql: "CREATE TABLE short (n INTEGER)") { _, _ in }
        let migrations =
            version == 2
            ? [first, converting()]
            : [first, short, Migration(version: 3, name: "long", sql: "CREATE TABLE long AS SELECT zeroblob(1000000)")]
        let error = #expect(throws: MigrationError.self) {
            try Engine.file.open(migrations, configuration: configuration, in: folder)
        }
        #expect(error?.description.contains("needs about 1 MB of disk space and there are ") == true)
        let old = try open([first])
        #expect(try await old.ids() == ["a", "b", "c"])
        await old.close()
        await (try open(migrations)).close()
    }
}
