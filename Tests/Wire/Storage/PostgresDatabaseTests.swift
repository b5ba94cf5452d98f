import ParlorContracts
import ParlorEventLog
import ParlorStorage
import ParlorTestSupport
import Testing

/// Properties that only a server has: it ends connections, restarts, and prefers another's
/// transaction.
@Suite("A database on a PostgreSQL server", .timeLimit(.minutes(1)))
struct PostgresDatabaseTests {
    private let schema = PostgresServer.newSchema()

    private func open(
        _ more: String = "", claim: PostgresDatabase.Claim = .shared, on server: PostgresURL? = nil
    ) throws -> PostgresDatabase {
        try PostgresDatabase(
            server ?? PostgresServer.url(), schema: schema, claim: claim,
            migrations: [
                Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER);" + more)
            ])
    }

    /// Repeats an attempt until it succeeds, with pauses.
    private func retried<T>(_ body: () async throws -> T) async throws -> T {
        while true {
            do {
                return try await body()
            } catch let error as StorageError where error.isRetryable {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Ends all connections to the schema, as an administrator may.
    private func endConnections() async throws {
        let console = try PostgresDatabase(
            PostgresServer.url(), schema: PostgresServer.newSchema(), migrations: [])
        let ended = try await console.read { [schema] connection in
            try connection.all(
                "SELECT pg_terminate_backend(pid, 5000)::int FROM pg_stat_activity WHERE application_name = $1",
                "parlor-\(schema)"
            ) { $0.int(0) }
        }
        #expect(!ended.isEmpty && ended.allSatisfy { $0 == 1 })
        await console.close()
    }

    @Test("connections that ended while idle fail no read and no write")
    func idleLoss() async throws {
        let database = try open()
        try await database.insert("a")
        #expect(try await database.ids() == ["a"])
        try await endConnections()
        async let ids = database.ids()
        try await database.insert("b")
        #expect(try await ids.first == "a")
        #expect(try await database.ids() == ["a", "b"])
        await database.close()
    }

    @Test("writes fail as retryable while the server is down; when it is up again they work, and nothing is lost")
    func restart() async throws {
        let server = try PostgresServer(named: "restart")
        let database = try open(on: server.url)
        try await database.insert("before")
        try server.stop()
        for _ in 0..<3 {
            do {
                try await database.insert("meanwhile")
                Issue.record("there is no server")
            } catch let error as StorageError {
                #expect(error.isRetryable, "\(error)")
            }
        }
        try server.start()
        try await retried { try await database.insert("after") }
        #expect(try await database.ids() == ["after", "before"])
        await database.close()
    }

    @Test("a read takes no more round trips than it has statements, and does not wait for its end")
    func readRoundTrips() async throws {
        let proxy = try PostgresProxy()
        var configuration = DatabaseConfiguration()
        configuration.readers = 1
        let database = try PostgresDatabase(proxy.url(), schema: schema, migrations: [], configuration: configuration)
        for (index, count) in [1, 1, 2, 3].enumerated() {
            try await database.read { connection in
                for n in 0..<count { _ = try connection.first("SELECT $1 + 0", n) { $0.int(0) } }
            }
            let roundTrips = proxy.takeRoundTrips().ofReads
            // The first read also connects.
            if index > 0 { #expect(roundTrips == count) }
        }
        await database.close()
    }

    @Test("a batch and its answers may be larger than all buffers between the two sides", .timeLimit(.minutes(1)))
    func largeFlush() async throws {
        let database = try open()
        let text = String(repeating: "x", count: 100_000)
        let length = try await database.write { connection in
            var length = 0
            for n in 0..<200 {
                try connection.executeLater("INSERT INTO items (id) VALUES ($1)", "\(n)")
                try connection.queryLater("SELECT $1 || 'y'", text) { length += $0.text(0).utf8.count }
            }
            try connection.query("SELECT count(*) FROM items") { length += $0.int(0) }
            return length
        }
        #expect(length == 200 * 100_001 + 200)
        await database.close()
    }

    @Test("an unanswered commit is not run again, and its write fails as retryable")
    func lostCommit() async throws {
        let database = try open(
            """
            CREATE FUNCTION hang_up() RETURNS trigger LANGUAGE plpgsql
                AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER hang_up AFTER INSERT ON items DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.id = 'last') EXECUTE FUNCTION hang_up();
            """)
        let runs = Collector<String>()
        do {
            try await database.write { connection in
                runs.add(["run"])
                try connection.execute("INSERT INTO items (id) VALUES ('last')")
            }
            Issue.record("the commit has no answer")
        } catch let error as StorageError {
            #expect(error.isRetryable, "\(error)")
        }
        #expect(runs.items == ["run"])
        #expect(database.statistics.isWritingFailing)
        try await database.insert("next")
        #expect(try await database.ids() == ["next"] && !database.statistics.isWritingFailing)
        await database.close()
    }

    @Test("a server that ends before the COMMIT of its flush has stored nothing, and the writes run again")
    func lostFlush() async throws {
        let database = try open(
            """
            CREATE SEQUENCE attempts;
            CREATE FUNCTION end_once() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN
                    IF nextval(''attempts'') = 1 THEN
                        PERFORM pg_terminate_backend(pg_backend_pid());
                        PERFORM pg_sleep(60);
                    END IF;
                    RETURN NEW;
                END';
            CREATE TRIGGER end_once BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION end_once();
            """)
        try await database.write { try $0.executeLater("INSERT INTO items (id) VALUES ('a')") }
        #expect(try await database.ids() == ["a"])
        #expect(database.statistics.failedCommits == 0)
        await database.close()
    }

    @Test("statements that the server has dropped, or whose table has changed, are prepared again")
    func staleStatements() async throws {
        let (database, other) = (try open(), try open())
        func number() async throws -> Int? {
            try await database.read { try $0.first("SELECT n FROM items") { $0.int(0) } }
        }
        try await database.write { try $0.execute("INSERT INTO items (id, n) VALUES ('a', 1)") }
        for _ in 0..<4 { #expect(try await number() == 1) }
        try await other.write { try $0.execute("ALTER TABLE items ALTER COLUMN n TYPE NUMERIC") }
        #expect(try await number() == 1)
        try await database.write { try $0.execute("DEALLOCATE ALL") }
        try await database.write { try $0.execute("INSERT INTO items (id, n) VALUES ('b', 1)") }
        #expect(try await database.ids() == ["a", "b"])
        #expect(database.statistics.failedCommits == 0)
        for database in [database, other] { await database.close() }
    }

    @Test("a transaction that loses a conflict is run again, unnoticed by its caller")
    func serialisationFailure() async throws {
        let database = try open(
            """
            CREATE SEQUENCE attempts;
            CREATE FUNCTION lose_twice() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN
                    IF nextval(''attempts'') <= 2 THEN RAISE EXCEPTION USING ERRCODE = ''40001''; END IF;
                    RETURN NEW;
                END';
            CREATE TRIGGER lose_twice BEFORE INSERT ON items FOR EACH ROW EXECUTE FUNCTION lose_twice();
            """)
        try await database.insert("a")
        #expect(try await database.ids() == ["a"])
        #expect(database.statistics.failedCommits == 0)
        await database.close()
    }

    @Test("several programs write one log without gaps, and a reader sees a whole prefix of it")
    func sharedLog() async throws {
        let databases = try (0..<3).map { _ in try open() }
        let reported = databases.map { _ in Collector<String>() }
        for (database, reported) in zip(databases, reported) {
            database.onCommit { reported.add($0.compactMap { ($0 as? LogEntry).map { "\($0.seq)" } }) }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, database) in databases.enumerated() {
                for n in 0..<100 {
                    group.addTask {
                        _ = try await database.write { connection in
                            try EventLog.append(
                                at: Timestamp(milliseconds: n), roomID: "room \(number)", participants: [],
                                emissions: [], on: connection)
                        }
                    }
                }
                group.addTask {
                    for _ in 0..<30 {
                        let (count, last) = try await database.read { connection in
                            try connection.first("SELECT count(*), coalesce(max(seq), 0) FROM events") {
                                ($0.int(0), $0.int(1))
                            } ?? (-1, 0)
                        }
                        #expect(count == last)
                    }
                }
            }
            try await group.waitForAll()
        }
        let seqs = reported.map { $0.items.compactMap(Int.init) }
        for seqs in seqs { #expect(seqs.count == 100 && seqs == seqs.sorted()) }
        #expect(seqs.flatMap(\.self).sorted() == Array(1...300))
        for database in databases { await database.close() }
    }

    @Test("programs that start at once make one schema, migrated once")
    func concurrentStart() async throws {
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 { group.addTask { try await onThread { try open().databaseID } } }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test("a program with exclusive use of a schema keeps others out, and is refused while others are there")
    func claims() async throws {
        let alone = try open(claim: .alone)
        for claim in [PostgresDatabase.Claim.alone, .shared] {
            #expect(throws: StorageError.self) { try open(claim: claim) }
        }
        await alone.close()
        let shared = try await retried { try open(claim: .shared) }
        let second = try open(claim: .shared)
        #expect(throws: StorageError.self) { try open(claim: .alone) }
        await shared.close()
        await second.close()
        // The server hears of the end of a connection a moment later.
        await (try await retried { try open(claim: .alone) }).close()
    }

    @Test("a missing server is reported by name and without its password")
    func unreachable() throws {
        let url = try #require(PostgresURL("postgres://parlor:secret@127.0.0.1:1/rooms"))
        do {
            _ = try open(on: url)
            Issue.record("there is no server")
        } catch StorageError.io(let reason) {
            #expect(reason.contains("rooms on 127.0.0.1") && !reason.contains("secret"), "\(reason)")
        }
    }

    @Test(
        "an address that libpq would refuse only later is refused",
        arguments: [
            "postgres://host:port/rooms", "postgres://a:1,b:0/rooms", "postgres://a:70000/rooms", "http://a/rooms",
            "postgres://me:se@cret@a/rooms",
        ])
    func malformed(url: String) {
        #expect(PostgresURL(url) == nil)
    }

    @Test("a command beside the programs reads and writes as they do, and needs a current schema")
    func maintenance() async throws {
        let url = try PostgresServer.url()
        #expect(throws: StorageError.self) { try PostgresMaintenance(existing: url, schema: schema) }
        let database = try open()
        try await database.insert("a")
        let console = try PostgresMaintenance(existing: url, schema: schema)
        #expect(throws: MigrationError.self) { try console.requireSchema([]) }
        struct Undone: Error {}
        #expect(throws: Undone.self) {
            try console.write(in: 0) { connection in
                try connection.execute("INSERT INTO items (id) VALUES ('b')")
                throw Undone()
            }
        }
        try console.write(in: 0) { _ = try $0.execute("INSERT INTO items (id) VALUES ('c')") }
        #expect(try console.read { try $0.all("SELECT id FROM items ORDER BY id") { $0.text(0) } } == ["a", "c"])
        #expect(try await database.ids() == ["a", "c"])
        console.close()
        await database.close()
    }
}
