import ParlorJSON
import ParlorStorage
import ParlorTestSupport
import Testing

/// The promises of every engine.
@Suite("A database")
struct DatabaseConformanceTests {
    private let folder = TemporaryFolder()

    @Test("written rows are visible to all readers once write returns", arguments: Engine.allCases)
    func readsWhatWasWritten(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for n in 0..<50 {
            try await database.insert("\(n)")
            #expect(try await database.ids().count == n + 1)
        }
    }

    @Test("execute returns how many rows it changed, and a query finds them in its order", arguments: Engine.allCases)
    func changes(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let counts = try await database.write { connection in
            [
                try connection.execute("INSERT INTO items (id, n) VALUES ($1, 1), ($2, 2), ($3, 3)", "a", "b", "c"),
                try connection.execute("UPDATE items SET n = n * 10 WHERE n >= $1", 2),
                try connection.execute("UPDATE items SET n = 0 WHERE id = $1", "nobody"),
            ]
        }
        #expect(counts == [3, 2, 0])
        let all = try await database.read { try $0.all("SELECT n FROM items ORDER BY n DESC") { $0.int(0) } }
        #expect(all == [30, 20, 1])
        let first = try await database.read { try $0.first("SELECT n FROM items ORDER BY n") { $0.int(0) } }
        #expect(first == 1)
        let none = try await database.read { try $0.first("SELECT n FROM items WHERE n = $1", 5) { $0.int(0) } }
        #expect(none == nil)
    }

    @Test(
        "a statement that changes and returns rows runs once, however many are read",
        arguments: Engine.allCases)
    func returning(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for id in ["a", "b", "c"] { try await database.insert(id) }
        let sql = "UPDATE items SET n = n + 1 RETURNING id"
        try await database.write { connection in
            try connection.execute("UPDATE items SET n = 0")
            #expect(try connection.all(sql) { $0.text(0) }.sorted() == ["a", "b", "c"])
            #expect(try connection.first(sql) { _ in true } == true)
            try connection.query(sql) { _ in }
        }
        #expect(try await database.read { try $0.all("SELECT n FROM items") { $0.int(0) } } == [3, 3, 3])
    }

    @Test("parameters are bound by number, wherever and how often they occur", arguments: Engine.allCases)
    func parameterNumbers(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let row = try await database.read { connection in
            try connection.first("SELECT $2 || $1 || $2, $3 + 1", "a", "b", 41) { ($0.text(0), $0.int(1)) }
        }
        #expect(row?.0 == "bab")
        #expect(row?.1 == 42)
    }

    @Test("values of every type are read back unchanged", arguments: Engine.allCases)
    func types(engine: Engine) async throws {
        let database = try engine.open("CREATE TABLE kinds (i INTEGER, t TEXT, b BLOB, j TEXT, z TEXT)", in: folder)
        let json = try JSONValue(parsing: #"{"n": 123456789012345678901234567890, "s": "\u0000 é" , "n":1.0}"#)
        let bytes: [UInt8] = Array(0...255)
        for number in [0, -1, Int.max, Int.min] {
            try await database.write { connection in
                try connection.execute("DELETE FROM kinds")
                try connection.execute(
                    "INSERT INTO kinds (i, t, b, j, z) VALUES ($1, $2, $3, $4, $5)", number, "", bytes, json,
                    nil as String?)
            }
            try await database.read { connection in
                try connection.query("SELECT i, t, b, j, z FROM kinds") { row in
                    #expect(row.int(0) == number)
                    #expect(row.text(1) == "")
                    #expect(row.bytes(2) == bytes)
                    #expect(row.json(3) == json)
                    #expect(row.isNull(4) && row.textOrNil(4) == nil && row.jsonOrNil(4) == nil)
                    #expect(row.intOrNil(4) == nil && row.bytesOrNil(4) == nil)
                }
            }
        }
        try await database.write { try $0.execute("UPDATE kinds SET b = $1, i = $2", [UInt8](), true) }
        try await database.read { connection in
            try connection.query("SELECT b, i FROM kinds") { row in
                #expect(row.bytesOrNil(0) == [])
                #expect(row.bool(1))
            }
        }
    }

    @Test(
        "text is kept byte by byte, and is never SQL",
        arguments: [
            "'; DROP TABLE items; --", "Grüße, 世界! 🎉", "e\u{301} is not \u{e9}", "\u{202e}", "$1 %s ? :a @b",
            "\u{10ffff}",
            "a\u{fffe}\u{ffff}b", "tab\tline\nbell\u{7}", String(repeating: "x", count: 100_000),
        ])
    func hostileText(text: String) async throws {
        for engine in Engine.allCases {
            let database = try engine.open(in: folder)
            try await database.insert(text)
            let ids = try await database.ids()
            #expect(ids.map { Array($0.utf8) } == [Array(text.utf8)])
            await database.close()
        }
    }

    @Test("text with a NUL is refused, and the rest of the transaction is unaffected", arguments: Engine.allCases)
    func nul(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        await #expect(throws: StorageError.unstorableText) { try await database.insert("nul\0nul") }
        await #expect(throws: StorageError.unstorableText) {
            try await database.read { try $0.first("SELECT $1", "\0") { $0.text(0) } }
        }
        try await database.insert("fine")
        #expect(try await database.ids() == ["fine"])
    }

    @Test("a list is one parameter", arguments: Engine.allCases)
    func lists(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for id in ["a", "b", "quote\"and'", "d"] { try await database.insert(id) }
        for wanted in [[], ["a"], ["d", "quote\"and'", "unknown"]] {
            let found = try await database.read { connection in
                try connection.all(
                    "SELECT id FROM items WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id",
                    SQLValue.list(wanted)
                ) { $0.text(0) }
            }
            #expect(found == wanted.filter { $0 != "unknown" })
        }
    }

    @Test("a duplicate value is reported with its index", arguments: Engine.allCases)
    func unique(engine: Engine) async throws {
        let database = try engine.open(
            "CREATE TABLE items (id TEXT NOT NULL); CREATE UNIQUE INDEX items_id ON items (lower(id))", in: folder)
        try await database.insert("Alice")
        await #expect(throws: StorageError.unique("items_id")) { try await database.insert("ALICE") }
        #expect(try await database.ids() == ["Alice"])
    }

    @Test("a row without a required value is refused", arguments: Engine.allCases)
    func constraints(engine: Engine) async throws {
        let database = try engine.open(
            """
            CREATE TABLE parents (id TEXT PRIMARY KEY);
            CREATE TABLE items (id TEXT NOT NULL REFERENCES parents (id), n INTEGER CHECK (n > 0))
            """, in: folder)
        for sql in ["INSERT INTO items (id) VALUES (NULL)", "INSERT INTO items (id) VALUES ('orphan')"] {
            let error = await #expect(throws: StorageError.self) { try await database.write { try $0.execute(sql) } }
            guard case .constraint = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(try await database.ids() == [])
    }

    @Test("closing finishes queued work and refuses later work", arguments: Engine.allCases)
    func closing(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let writes = (0..<100).map { n in Task.immediate { try await database.insert("\(n)") } }
        await database.close()
        for write in writes { try await write.value }
        await #expect(throws: StorageError.closed) { try await database.insert("late") }
        await #expect(throws: StorageError.closed) { try await database.ids() }
        await database.close()
    }
}
