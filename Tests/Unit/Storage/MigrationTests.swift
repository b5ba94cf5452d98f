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
}
