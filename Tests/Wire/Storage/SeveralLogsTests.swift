import ParlorContracts
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorEventLog

@Suite("A schema with several logs", .enabled(if: Engine.isPostgresWanted), .timeLimit(.minutes(2)))
struct SeveralLogsTests {
    private let schema = PostgresServer.newSchema()
    private let items = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)")

    private func open(
        _ logs: Int, claim: PostgresDatabase.Claim = .shared, onOtherLogs: @escaping @Sendable () -> Void = {}
    ) throws -> PostgresDatabase {
        var configuration = DatabaseConfiguration()
        configuration.logCount = logs
        configuration.onOtherLogs = onOtherLogs
        // A transaction that waits for the test waits longer on a busy machine.
        configuration.idleTimeoutMilliseconds = 60_000
        return try PostgresDatabase(
            PostgresServer.url(), schema: schema, claim: claim, migrations: [items], configuration: configuration)
    }

    @discardableResult
    private func append(_ count: Int = 1, to log: Int, of database: any Database) async throws -> Int {
        try await database.write(in: log) { connection in
            var last = 0
            for _ in 0..<count {
                last = try EventLog.append(
                    at: Timestamp(milliseconds: 7), roomID: "room", participants: [], emissions: [], on: connection)
            }
            return last
        }
    }

    /// Repeats a call until the server has heard of the end of a connection.
    private func retried<T>(_ body: () async throws -> T) async throws -> T {
        while true {
            do {
                return try await body()
            } catch let error where error is PostgresDatabase.OtherLogs || (error as? StorageError)?.isRetryable == true
            {
                try await Task.sleep(for: .milliseconds(20))
            }
        }
    }

    /// Ends all connections to the schema, as an administrator may.
    private func endConnections() async throws {
        let console = try PostgresDatabase(
            PostgresServer.url(), schema: PostgresServer.newSchema(), migrations: [items])
        try await console.write { connection in
            try connection.query(
                "SELECT pg_terminate_backend(pid, 5000)::int FROM pg_stat_activity WHERE application_name = $1",
                "parlor-\(schema)"
            ) { _ in }
        }
        await console.close()
    }

    @Test("each log has its own numbers, heads and pages, and one reply has the heads of all")
    func numbers() async throws {
        let database = try open(4)
        for (index, log) in database.logs.enumerated() where index > 0 {
            #expect(try await append(index, to: log, of: database) == index)
            #expect(try await append(to: log, of: database) == index + 1)
        }
        let logs = EventLogs(database)
        #expect(try await logs.heads().mapValues(\.seq) == [100: 0, 101: 2, 102: 3, 103: 4])
        let page = try await page(LogQuery(since: 1, limit: 2).of(103), logs)
        #expect(page.entries.map(\.seq) == [2, 3] && page.entries.allSatisfy { $0.log == 103 })
        #expect(page.head.seq == 4 && page.oldest == 1 && page.through == 3 && page.heads == nil)
        #expect(try #require(LogPage(page.json)).entries == page.entries)
        let head = try await self.page(.head, logs)
        #expect(head.heads?.mapValues(\.seq) == [100: 0, 101: 2, 102: 3, 103: 4] && head.earlier.isEmpty)
        #expect(LogPage(head.json)?.heads == head.heads)
        #expect(try await EventLog(database, log: 102).oldest() == 1)
        #expect(try await EventLog(database).head() == 0)
        await database.close()
    }

    private func page(_ query: LogQuery, _ logs: EventLogs) async throws -> LogPage {
        try await withCheckedThrowingContinuation { continuation in
            logs.page(for: query, to: nil) { continuation.resume(with: $0) }
        }
    }

    @Test("a commit waits for others of its log, in any program, and not for those of other logs")
    func concurrency() async throws {
        let databases = [try open(2), try open(2)]
        let (gate, arrived) = (DatabaseGate(), DatabaseGate())
        async let held = databases[0].write(in: 100) { connection in
            // So the server has granted the lock.
            let last = try connection.lastSeq()
            try arrived.open()
            gate.pass()
            return last
        }
        await arrived.passed()
        async let waiting = append(to: 100, of: databases[1])
        while try await waitingTransactions(databases[0]) == 0 { await Task.yield() }
        // These would wait for ever for a lock of the schema.
        for database in databases { try await append(to: 101, of: database) }
        #expect(try await waitingTransactions(databases[0]) == 1)
        try gate.open()
        #expect(try await held == 0)
        #expect(try await waiting == 1)
        for database in databases { await database.close() }
    }

    /// Returns the number of transactions on the schema that wait for a lock.
    private func waitingTransactions(_ database: any Database) async throws -> Int {
        try await database.read { connection in
            try connection.first(
                """
                SELECT count(*) FROM pg_locks JOIN pg_stat_activity ON pg_stat_activity.pid = pg_locks.pid
                WHERE application_name = $1 AND locktype = 'advisory' AND NOT granted
                """, "parlor-\(schema)"
            ) { $0.int(0) } ?? 0
        }
    }

    @Test("programs on one schema write each log without gaps")
    func sharedLogs() async throws {
        let databases = try (0..<3).map { _ in try open(4) }
        let seqs = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for n in 0..<240 {
                let log = 100 + n % 4
                group.addTask { (log, try await append(to: log, of: databases[n % 3])) }
            }
            return try await group.reduce(into: [Int: [Int]]()) { $0[$1.0, default: []].append($1.1) }
        }
        for log in 100..<104 { #expect(seqs[log]?.sorted() == Array(1...60)) }
        for database in databases { await database.close() }
    }

    @Test("another number of logs needs that all programs with the number before have ended, and begins new logs")
    func change() async throws {
        let notes = Collector<Void>()
        let single = try open(1) { notes.add(()) }
        #expect(single.logs == [0])
        try await append(3, to: 0, of: single)
        let error = #expect(throws: PostgresDatabase.OtherLogs.self) { try open(4) }
        #expect(error?.description.contains("has 1 logs in other programs, and 4 were asked for") == true)
        try await append(to: 0, of: single)
        // It loses its connections, and another program takes the schema over before it reconnects.
        try await endConnections()
        let four = try await retried { try open(4) }
        #expect(four.logs == [100, 101, 102, 103])
        try await append(to: 102, of: four)
        await #expect(throws: StorageError.self) { try await append(to: 0, of: single) }
        await #expect(throws: StorageError.self) { _ = try await EventLog(single).head() }
        #expect(notes.items.count >= 2, "neither a writer nor a reader goes on")
        await single.close()
        #expect(try await EventLog(four).entries(since: 0, limit: 10).map(\.seq) == [1, 2, 3, 4])
        await four.close()
        let again = try await retried { try open(1) }
        #expect(again.logs == [200])
        #expect(try await append(to: 200, of: again) == 1)
        let head = try await page(.head, EventLogs(again))
        #expect(head.logs == [200] && head.earlier == [0, 102])
        #expect(try await EventLog(again).head() == 4)
        await again.close()
    }

    @Test("programs that start at the same time on a new schema agree")
    func together() async throws {
        let logs = try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<4 {
                group.addTask { try await retried { try await onThread { try open(3) } }.logs }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(logs == [[100, 101, 102]])
    }

    @Test("a program that is alone on its schema claims each of several logs")
    func alone() async throws {
        let first = try open(2, claim: .alone)
        try await append(to: 101, of: first)
        #expect(throws: StorageError.self) { try open(2) }
        try await endConnections()
        let second = try await retried { try open(2, claim: .alone) }
        for log in second.logs {
            await #expect(throws: StorageError.self) { try await append(to: log, of: first) }
            try await append(to: log, of: second)
        }
        await first.close()
        await second.close()
    }

    @Test("a repair beside the programs writes to the log that it names, alone")
    func maintenance() async throws {
        let database = try open(4)
        try await append(to: 101, of: database)
        let console = try PostgresMaintenance(existing: try PostgresServer.url(), schema: schema)
        #expect(try console.logs() == [100, 101, 102, 103])
        let seq = try console.write(in: 101) { connection in
            try EventLog.append(
                at: Timestamp(milliseconds: 7), roomID: "room", participants: [], emissions: [], on: connection)
        }
        #expect(seq == 2)
        #expect(try await EventLog(database, log: 101).head() == 2)
        console.close()
        await database.close()
    }

    @Test("pruning keeps the newest entry of each log, and deletes the logs of an earlier number once they are old")
    func pruning() async throws {
        let single = try open(1)
        try await append(3, to: 0, of: single)
        await single.close()
        let database = try await retried { try open(2) }
        try await append(3, to: 101, of: database)
        let logs = EventLogs(database)
        func prune(at milliseconds: Int) async throws -> Int {
            try await logs.prune(
                olderThan: Timestamp(milliseconds: milliseconds), at: Timestamp(milliseconds: milliseconds + 1))
        }
        #expect(try await prune(at: 7) == 0)
        #expect(try await prune(at: 8) == 2 + 3)
        #expect(try await EventLog(database, log: 101).entries(since: 0, limit: 9).map(\.seq) == [3])
        #expect(try await EventLog(database).newestEntry() == nil)
        await database.close()
    }
}

extension EventLog {
    fileprivate func newestEntry() async throws -> LogEntry? { try await database.read { try newest(on: $0) } }
}
