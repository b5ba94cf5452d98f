import JSON
import Storage
import Synchronization
import Testing

/// What every engine has to do.
@Suite("A database")
struct DatabaseConformanceTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    @Test("what was written is read, by anyone, once write returns", arguments: Engine.allCases)
    func readsWhatWasWritten(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for n in 0..<50 {
            try await database.insert("\(n)")
            #expect(try await database.ids().count == n + 1)
        }
    }

    @Test("execute tells how many rows it changed, and a query finds them in its order", arguments: Engine.allCases)
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

    @Test("parameters go by their number, wherever and how often they stand", arguments: Engine.allCases)
    func parameterNumbers(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let row = try await database.read { connection in
            try connection.first("SELECT $2 || $1 || $2, $3 + 1", "a", "b", 41) { ($0.text(0), $0.int(1)) }
        }
        #expect(row?.0 == "bab")
        #expect(row?.1 == 42)
    }

    @Test("values of every type come back as they were", arguments: Engine.allCases)
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

    @Test("text with a NUL is refused, and the rest of the transaction is not harmed", arguments: Engine.allCases)
    func nul(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        await #expect(throws: StorageError.unstorableText) { try await database.insert("nul\0nul") }
        await #expect(throws: StorageError.unstorableText) {
            try await database.read { try $0.first("SELECT $1", "\0") { $0.text(0) } }
        }
        try await database.insert("fine")
        #expect(try await database.ids() == ["fine"])
    }

    @Test("a list goes in as one parameter", arguments: Engine.allCases)
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

    @Test("a value that another row has is told by its index", arguments: Engine.allCases)
    func unique(engine: Engine) async throws {
        let database = try engine.open(
            "CREATE TABLE items (id TEXT NOT NULL); CREATE UNIQUE INDEX items_id ON items (lower(id))", in: folder)
        try await database.insert("Alice")
        await #expect(throws: StorageError.unique("items_id")) { try await database.insert("ALICE") }
        #expect(try await database.ids() == ["Alice"])
    }

    @Test("a row without what it must have is refused", arguments: Engine.allCases)
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

    @Test("a write that throws is undone alone, with its hooks and its entries", arguments: Engine.allCases)
    func isolation(engine: Engine) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        let told = Told()
        database.onCommit { told.add($0.map(\.roomID)) }
        let gate = Gate()
        let blocked = await database.close(gate)
        let writes = (0..<10).map { n in
            Task.immediate {
                try await database.write { connection in
                    try connection.execute("INSERT INTO items (id) VALUES ($1)", "\(n)")
                    try EventLog.append(
                        at: n, roomID: "room \(n)", participants: [], emissions: .emptyArray, on: connection)
                    connection.afterCommit { told.add(["hook \(n)"]) }
                    if n.isMultiple(of: 3) { throw Refused() }
                }
            }
        }
        try gate.open()
        try await blocked.value
        for (n, write) in writes.enumerated() {
            switch await write.result {
            case .success: #expect(!n.isMultiple(of: 3))
            case .failure(let error): #expect(n.isMultiple(of: 3) && error is Refused)
            }
        }
        let kept = [1, 2, 4, 5, 7, 8]
        #expect(try await database.ids() == kept.map { "\($0)" })
        #expect(told.all == kept.map { "hook \($0)" } + kept.map { "room \($0)" })
        let entries = try await EventLog(database).entries(since: 0, limit: 100)
        #expect(entries.map(\.seq) == Array(1...6))
        #expect(entries.map(\.at) == kept)
    }

    @Test("writes that come together share a commit", arguments: Engine.allCases)
    func groupCommit(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gate = Gate()
        let blocked = await database.close(gate)
        let writes = (0..<500).map { n in Task.immediate { try await database.insert("\(n)") } }
        #expect(database.statistics.queuedWrites == 500)
        let before = database.statistics
        try gate.open()
        try await blocked.value
        for write in writes { try await write.value }
        let after = database.statistics
        #expect(after.writes - before.writes == 501)
        #expect(after.commits - before.commits == 2)
        #expect(try await database.ids().count == 500)
    }

    @Test("a batch is bounded", arguments: Engine.allCases)
    func boundedBatch(engine: Engine) async throws {
        var configuration = DatabaseConfiguration()
        configuration.maxBatch = 10
        let database = try engine.open(configuration: configuration, in: folder)
        let gate = Gate()
        let blocked = await database.close(gate)
        let writes = (0..<35).map { n in Task.immediate { try await database.insert("\(n)") } }
        try gate.open()
        try await blocked.value
        for write in writes { try await write.value }
        #expect(database.statistics.commits == 5)
    }

    @Test("writes run and are told in the order they were made", arguments: Engine.allCases)
    func order(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let told = Told()
        database.onCommit { told.add($0.map(\.roomID)) }
        let writes = (0..<300).map { n in
            Task.immediate {
                try await database.write { connection in
                    try EventLog.append(
                        at: 0, roomID: "\(n)", participants: [], emissions: .emptyArray, on: connection)
                }
            }
        }
        var positions: [Int] = []
        for write in writes { positions.append(try await write.value) }
        #expect(positions == Array(1...300))
        #expect(told.all == (0..<300).map { "\($0)" })
    }

    @Test("the hook has been told before the write returns", arguments: Engine.allCases)
    func toldBeforeTheAnswer(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let told = Told()
        database.onCommit { told.add($0.map(\.roomID)) }
        for n in 1...50 {
            try await database.write {
                try EventLog.append(at: 0, roomID: "\(n)", participants: [], emissions: .emptyArray, on: $0)
            }
            #expect(told.all.count == n)
        }
    }

    @Test("a caller that is cancelled does not take its write along", arguments: Engine.allCases)
    func cancellation(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gate = Gate()
        let blocked = await database.close(gate)
        let write = Task.immediate { try await database.insert("kept") }
        write.cancel()
        try gate.open()
        try await blocked.value
        try await write.value
        #expect(try await database.ids() == ["kept"])
    }

    @Test(
        "a full queue refuses at once, by count and by bytes, and works again when it is empty",
        arguments: Engine.allCases)
    func overload(engine: Engine) async throws {
        var configuration = DatabaseConfiguration()
        configuration.maxQueuedWrites = 3
        configuration.maxQueuedBytes = 10_000
        let database = try engine.open(configuration: configuration, in: folder)
        let gate = Gate()
        let blocked = await database.close(gate)
        let large = Task.immediate { try await database.write(holding: 20_000) { _ in } }
        await #expect(throws: StorageError.overloaded) { try await database.insert("too many bytes") }
        try gate.open()
        try await blocked.value
        try await large.value

        let secondGate = Gate()
        let blockedAgain = await database.close(secondGate)
        let three = (0..<3).map { n in Task.immediate { try await database.insert("\(n)") } }
        await #expect(throws: StorageError.overloaded) { try await database.insert("too many") }
        try secondGate.open()
        try await blockedAgain.value
        for write in three { try await write.value }
        try await database.insert("again")
        #expect(try await database.ids() == ["0", "1", "2", "again"])
    }

    @Test("a read sees one committed state, whatever is being written", arguments: Engine.allCases)
    func snapshots(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await database.write { try $0.execute("INSERT INTO items (id, n) VALUES ('a', 0), ('b', 0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<200 {
                    try await database.write { connection in
                        try connection.execute("UPDATE items SET n = n + 1 WHERE id = 'a'")
                        try connection.execute("UPDATE items SET n = n + 1 WHERE id = 'b'")
                    }
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    var last = 0
                    for _ in 0..<200 {
                        let (a, b) = try await database.read { connection in
                            func n(_ id: String) throws -> Int {
                                try connection.first("SELECT n FROM items WHERE id = $1", id) { $0.int(0) } ?? -1
                            }
                            return (try n("a"), try n("b"))
                        }
                        #expect(a == b && a >= last)
                        last = a
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test("what a write has not committed, nobody reads", arguments: Engine.allCases)
    func uncommitted(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let (gate, inserted) = (Gate(), Gate())
        let write = Task.immediate {
            try await database.write { connection in
                try connection.execute("INSERT INTO items (id) VALUES ('x')")
                try inserted.open()
                gate.pass()
            }
        }
        // Two readers: one waits for the moment, the other looks.
        try await database.read { _ in inserted.pass() }
        #expect(try await database.ids() == [])
        try gate.open()
        try await write.value
        #expect(try await database.ids() == ["x"])
    }

    @Test("an error thrown by a read's body comes out, and the next read works", arguments: Engine.allCases)
    func readErrors(engine: Engine) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        try await database.insert("a")
        for _ in 0..<10 {
            await #expect(throws: Refused.self) {
                try await database.read { try $0.query("SELECT id FROM items") { _ in throw Refused() } }
            }
        }
        #expect(try await database.ids() == ["a"])
    }

    @Test(
        "reads that wait together share a snapshot, up to a limit, and each is answered for itself",
        arguments: Engine.allCases)
    func sharedSnapshots(engine: Engine) async throws {
        struct Refused: Error {}
        var configuration = DatabaseConfiguration()
        configuration.readers = 1
        let database = try engine.open(configuration: configuration, in: folder)
        let gate = Gate()
        let held = await database.holdReader(at: gate)
        // Committed after the first snapshot began, and before the reads are asked for.
        try await database.insert("x")
        let reads = (0..<40).map { n in
            Task.immediate {
                try await database.read { connection in
                    if n % 10 == 3 { throw Refused() }
                    return try connection.first("SELECT id || $1 FROM items", n) { $0.text(0) }
                }
            }
        }
        #expect(database.statistics.queuedReads == 40)
        let before = database.statistics
        try gate.open()
        try await held.value
        for (n, read) in reads.enumerated() {
            switch await read.result {
            case .success(let text): #expect(text == "x\(n)" && n % 10 != 3)
            case .failure(let error): #expect(error is Refused && n % 10 == 3)
            }
        }
        let after = database.statistics
        #expect(after.reads - before.reads == 41)
        #expect(after.snapshots - before.snapshots == 3)
    }

    @Test("one reader that is held up leaves the others their part of what waits", arguments: Engine.allCases)
    func readersShare(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gates = [Gate(), Gate()]
        var held: [Task<Void, any Error>] = []
        for gate in gates { held.append(await database.holdReader(at: gate)) }
        let long = Gate()
        let first = Task.immediate { try await database.read { _ in long.pass() } }
        let second = Task.immediate { try await database.read { _ in } }
        for gate in gates { try gate.open() }
        for task in held { try await task.value }
        try await second.value
        try long.open()
        try await first.value
    }

    @Test("the same query may run inside a loop over its own rows", arguments: Engine.allCases)
    func nesting(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        for id in ["a", "b", "c"] { try await database.insert(id) }
        let pairs = try await database.read { connection in
            var pairs: [String] = []
            let sql = "SELECT id FROM items ORDER BY id"
            try connection.query(sql) { outer in
                try connection.query(sql) { inner in pairs.append(outer.text(0) + inner.text(0)) }
            }
            return pairs
        }
        #expect(pairs == ["aa", "ab", "ac", "ba", "bb", "bc", "ca", "cb", "cc"])
    }

    @Test("closing finishes what is queued and refuses what comes after", arguments: Engine.allCases)
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

/// What a hook was told, from whatever thread.
final class Told: Sendable {
    private let told = Mutex<[String]>([])

    var all: [String] { told.withLock { $0 } }
    func add(_ more: [String]) { told.withLock { $0 += more } }
}
