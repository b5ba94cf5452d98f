import ParlorStorage
import ParlorTestSupport
import Testing

/// The promises of every engine.
@Suite("Reading a database")
struct ReadConformanceTests {
    private let folder = TemporaryFolder()

    private final class Event: CommitEvent { let seq = 1 }

    @Test("a read that reports an event, or asks for a hook, ends the process")
    func reporting() async {
        await #expect(processExitsWith: .failure) {
            let database = try SQLiteDatabase(.temporary, migrations: [])
            try await database.read { $0.report(Event()) }
        }
        await #expect(processExitsWith: .failure) {
            let database = try SQLiteDatabase(.temporary, migrations: [])
            try await database.read { $0.afterCommit {} }
        }
    }

    @Test("a table that somebody removed is damage, and does not end the process", arguments: Engine.allCases)
    func removedTable(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        try await database.write { try $0.execute("DROP TABLE items") }
        let error = await #expect(throws: StorageError.self) { try await database.ids() }
        guard case .corrupt = error else { throw error ?? .closed }
        #expect(database.statistics.damage?.contains("items") == true)
        await database.close()
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

    @Test("uncommitted writes are invisible to readers", arguments: Engine.allCases)
    func uncommitted(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let (gate, inserted) = (DatabaseGate(), DatabaseGate())
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

    @Test("an error thrown by a read's body is rethrown, and the next read works", arguments: Engine.allCases)
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
        "waiting reads share a snapshot, up to a limit, and each is answered separately",
        arguments: Engine.allCases)
    func sharedSnapshots(engine: Engine) async throws {
        struct Refused: Error {}
        var configuration = DatabaseConfiguration()
        configuration.readers = 1
        let database = try engine.open(configuration: configuration, in: folder)
        let gate = DatabaseGate()
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

    @Test("a blocked reader leaves the others their part of the queue", arguments: Engine.allCases)
    func readersShare(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gates = [DatabaseGate(), DatabaseGate()]
        var held: [Task<Void, any Error>] = []
        for gate in gates { held.append(await database.holdReader(at: gate)) }
        let long = DatabaseGate()
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
}
