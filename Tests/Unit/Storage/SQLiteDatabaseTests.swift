import Foundation
import ParlorContracts
import ParlorEventLog
import ParlorStorage
import ParlorTestSupport
import Testing

/// Properties that only a file has: it persists, it can be full, and it may not be ours.
@Suite("An SQLite database")
struct SQLiteDatabaseTests {
    private let folder = TemporaryFolder()
    private let items = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)")

    private func open(
        _ migrations: [Migration]? = nil, configuration: DatabaseConfiguration = DatabaseConfiguration()
    ) throws -> SQLiteDatabase {
        try SQLiteDatabase(
            .file(folder.file("test.db")), migrations: migrations ?? [items], configuration: configuration)
    }

    @Test("acknowledged writes survive the process' death at any moment")
    func crash() async throws {
        let database = try open()
        for n in 0..<20 {
            try await database.insert(String(format: "%02d", n))
            let copy = try folder.copyAsAfterACrash()
            let recovered = try SQLiteDatabase(.file(copy.file("test.db")), migrations: [items])
            #expect(try await recovered.ids().count == n + 1)
            #expect(recovered.databaseID == database.databaseID)
            await recovered.close()
        }
    }

    @Test("each database has an identity of its own")
    func identity() throws {
        let ids = try (0..<20).map { _ in try SQLiteDatabase(.temporary, migrations: []).databaseID }
        #expect(Set(ids).count == 20)
    }

    @Test("only its owner can read the file, and closing leaves no log behind")
    func files() async throws {
        let database = try open()
        try await database.insert("x")
        for name in ["parlor.databases", "test.db", "test.db-wal", "test.db-acknowledged"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.file(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        await database.close()
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(left.sorted() == ["parlor.databases", "test.db", "test.db-acknowledged"])
    }

    @Test("a full disk fails writes as retryable, reads go on, and freed space lets writes go on too")
    func diskFull() async throws {
        var configuration = DatabaseConfiguration()
        configuration.maxPages = 40
        let database = try open(configuration: configuration)
        try await database.insert("first")
        let filler = String(repeating: "x", count: 3000)
        var stored = 1
        var failure: StorageError?
        while failure == nil, stored < 100 {
            do {
                try await database.insert("\(stored)\(filler)")
                stored += 1
            } catch let error as StorageError {
                failure = error
            }
        }
        #expect(failure == .full)
        #expect(failure?.isRetryable == true)
        #expect(try await database.ids().count == stored)
        await #expect(throws: StorageError.full) { try await database.insert("again\(filler)") }
        try await database.write { try $0.execute("DELETE FROM items WHERE id <> 'first'") }
        try await database.insert("again\(filler)")
        #expect(try await database.ids().count == 2)
    }

    @Test("a write that fills the disk and continues regardless leaves nothing, and fails with its batch")
    func diskFullInABatch() async throws {
        var configuration = DatabaseConfiguration()
        configuration.maxPages = 40
        let database = try open(configuration: configuration)
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let small = Task.immediate { try await database.insert("small") }
        let large = Task.immediate {
            try await database.write { connection in
                do {
                    for n in 0..<100 {
                        try connection.execute(
                            "INSERT INTO items (id, n) VALUES ($1, $2)", "\(n)" + String(repeating: "x", count: 3000), n
                        )
                    }
                } catch StorageError.full {
                    try connection.execute("INSERT INTO items (id) VALUES ('regardless')")
                }
            }
        }
        try gate.open()
        try await blocked.value
        let results = [await small.result, await large.result]
        let ids = try await database.ids()
        // Whether SQLite ends the transaction or the statement is its choice; half a batch is never there.
        for (result, id) in zip(results, ["small", "regardless"]) {
            switch result {
            case .success: #expect(ids.contains(id))
            case .failure(let error):
                #expect(error as? StorageError == .full)
                #expect(!ids.contains(id))
            }
        }
        try await database.insert("after")
    }

    @Test("the hook of a later commit is no deeper in the stack than that of the first")
    func hookDepth() async throws {
        let database = try open()
        let reported = Collector<String>()
        database.onCommit { _ in
            var here = 0
            withUnsafeMutablePointer(to: &here) { reported.add(["\(UInt(bitPattern: $0))"]) }
        }
        for n in 0..<100 {
            try await database.write { connection in
                try EventLog.append(
                    at: Timestamp(milliseconds: n), roomID: "room", participants: [], emissions: [], on: connection)
            }
        }
        #expect(reported.items.count == 100)
        #expect(Set(reported.items).count == 1)
    }

    @Test("a failed commit fails all its writes, notifies nobody, and the next one works")
    func failedCommit() async throws {
        let deferred = Migration(
            version: 1, name: "items",
            sql: """
                CREATE TABLE parents (id TEXT PRIMARY KEY);
                CREATE TABLE items (id TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED);
                INSERT INTO parents (id) VALUES ('fine')
                """)
        let database = try open([deferred])
        let reported = Collector<String>()
        database.onCommit { reported.add(entries: $0) }
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        struct Refused: Error {}
        let writes = ["fine", "orphan", "refused"].map { id in
            Task.immediate {
                try await database.write { connection in
                    if id == "refused" { throw Refused() }
                    try connection.execute("INSERT INTO items (id) VALUES ($1)", id)
                    try EventLog.append(
                        at: Timestamp(milliseconds: 0), roomID: id, participants: [], emissions: [], on: connection)
                }
            }
        }
        try gate.open()
        try await blocked.value
        for write in writes { await #expect(throws: StorageError.self) { try await write.value } }
        #expect(try await database.ids() == [])
        #expect(reported.items == [])
        #expect(database.statistics.failedCommits == 1)
        try await database.insert("fine")
        #expect(try await database.ids() == ["fine"])
    }

    @Test("another process' lock is awaited, then the write fails as retryable")
    func busy() async throws {
        var configuration = DatabaseConfiguration()
        configuration.busyTimeoutMilliseconds = 1
        let (ours, theirs) = (try open(configuration: configuration), try open(configuration: configuration))
        let gate = DatabaseGate()
        let blocked = await theirs.close(gate)
        await #expect(throws: StorageError.busy) { try await ours.insert("x") }
        #expect(try await ours.ids() == [])
        try gate.open()
        try await blocked.value
        try await ours.insert("x")
        #expect(try await theirs.ids() == ["x"])
    }

    @Test("a long log is checkpointed by a reader")
    func checkpoint() async throws {
        let database = try open()
        let filler = [UInt8](repeating: 7, count: 1 << 20)
        for n in 0..<20 {
            try await database.write { connection in
                try connection.execute("CREATE TABLE IF NOT EXISTS large (n INTEGER PRIMARY KEY, b BLOB)")
                try connection.execute("INSERT INTO large (n, b) VALUES ($1, $2)", n, filler)
            }
        }
        // The reader's queue is in order: with two readers, two reads after it see it taken, and closing sees it done.
        await database.close()
        #expect(database.statistics.checkpoints >= 1)
        let again = try open()
        #expect(try await again.read { try $0.first("SELECT count(*) FROM large") { $0.int(0) } } == 20)
    }

    @Test("the log restarts during a load that never pauses")
    func endlessLoad() async throws {
        let database = try open()
        let filler = [UInt8](repeating: 7, count: 256 << 10)
        try await database.write { try $0.execute("CREATE TABLE large (n INTEGER PRIMARY KEY, b BLOB)") }
        // 150 MB. Those that are queued while others are written leave no moment without a write.
        try await withThrowingTaskGroup { group in
            for n in 0..<600 {
                group.addTask {
                    try await database.write {
                        try $0.execute(
                            "INSERT INTO large (n, b) VALUES ($1, $2) ON CONFLICT (n) DO UPDATE SET b = $2", n % 40,
                            filler)
                    }
                }
                if n >= 20 { _ = try await group.next() }
            }
            try await group.waitForAll()
        }
        let log = try FileManager.default.attributesOfItem(atPath: folder.file("test.db-wal"))[.size] as? Int ?? 0
        #expect(log < 64 << 20)
        await database.close()
    }

    @Test("a file that is not a database is refused")
    func noDatabase() throws {
        try Data(repeating: 65, count: 10_000).write(to: URL(fileURLWithPath: folder.file("test.db")))
        let error = #expect(throws: StorageError.self) { try open() }
        guard case .corrupt = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a missing folder is reported by its path")
    func noFolder() throws {
        let error = #expect(throws: StorageError.self) {
            try SQLiteDatabase(.file(folder.file("missing/test.db")), migrations: [])
        }
        #expect(String(describing: error).contains("missing/test.db"))
    }
}
