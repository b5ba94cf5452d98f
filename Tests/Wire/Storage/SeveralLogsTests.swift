import ParlorContracts
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorEventLog

@Suite("A schema with several logs", .enabled(if: Engine.isPostgresWanted), .timeLimit(.minutes(2)))
struct SeveralLogsTests {
    private let schema = PostgresServer.newSchema()
    private let items = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)")

    private func open(_ logs: Int, claim: PostgresDatabase.Claim = .shared) throws -> PostgresDatabase {
        var configuration = DatabaseConfiguration()
        configuration.logs = LogLayout(count: logs).numbers
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
            } catch let error as StorageError where error.isRetryable {
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
        for (index, log) in LogLayout(count: 4).numbers.enumerated() where index > 0 {
            #expect(try await append(index, to: log, of: database) == index)
            #expect(try await append(to: log, of: database) == index + 1)
        }
        let logs = EventLogs(database, LogLayout(count: 4))
        #expect(try await logs.heads().mapValues(\.seq) == [400: 0, 401: 2, 402: 3, 403: 4])
        let page: LogPage = try await withCheckedThrowingContinuation { continuation in
            logs.page(for: LogQuery(since: 1, limit: 2).of(403), to: nil) { continuation.resume(with: $0) }
        }
        #expect(page.entries.map(\.seq) == [2, 3] && page.entries.allSatisfy { $0.log == 403 })
        #expect(page.head.seq == 4 && page.oldest == 1 && page.through == 3)
        #expect(page.heads.mapValues(\.seq) == [400: 0, 401: 2, 402: 3, 403: 4])
        #expect(try #require(LogPage(page.json)).entries == page.entries)
        #expect(LogPage(page.json)?.heads == page.heads)
        #expect(try await EventLog(database, log: 402).oldest() == 1)
        #expect(try await EventLog(database).head() == 0)
        await database.close()
    }

    @Test("a commit waits for others of its log, in any program, and not for those of other logs")
    func concurrency() async throws {
        let databases = [try open(2), try open(2)]
        let gate = DatabaseGate()
        let held = await databases[0].close(gate, in: 200)
        // Both would wait for the gate for ever.
        for database in databases { try await append(to: 201, of: database) }
        let waiting = Task { try await append(to: 200, of: databases[1]) }
        try await append(to: 201, of: databases[1])
        #expect(databases[1].statistics.queuedWrites <= 1)
        try gate.open()
        try await held.value
        #expect(try await waiting.value == 1)
        #expect(try await append(to: 201, of: databases[0]) == 4)
        for database in databases { await database.close() }
    }

    @Test("programs on one schema write each log without gaps")
    func sharedLogs() async throws {
        let databases = try (0..<3).map { _ in try open(4) }
        let seqs = try await withThrowingTaskGroup(of: (Int, Int).self) { group in
            for n in 0..<240 {
                let log = 400 + n % 4
                group.addTask { (log, try await append(to: log, of: databases[n % 3])) }
            }
            return try await group.reduce(into: [Int: [Int]]()) { $0[$1.0, default: []].append($1.1) }
        }
        for log in 400..<404 { #expect(seqs[log]?.sorted() == Array(1...60)) }
        for database in databases { await database.close() }
    }

    @Test("another number of logs needs that all programs with the number before have ended, and keeps the old logs")
    func change() async throws {
        let single = try open(1)
        try await append(3, to: 0, of: single)
        let error = #expect(throws: StorageError.self) { try open(4) }
        #expect(error?.description.contains("has 1 logs in another program, and 4 were asked for") == true)
        #expect(error?.isRetryable == true, "a start waits for it")
        try await append(to: 0, of: single)
        // It loses its connections, and another program takes the schema over before it reconnects.
        try await endConnections()
        let four = try await retried { try open(4) }
        try await append(to: 402, of: four)
        let late = await #expect(throws: StorageError.self) { try await append(to: 0, of: single) }
        #expect(late?.description.contains("has 4 logs now, and this program was started with 1") == true)
        #expect(try await EventLog(four).entries(since: 0, limit: 10).map(\.seq) == [1, 2, 3, 4])
        #expect(try await EventLog(four, log: 402).head() == 1)
        await single.close()
        await four.close()
    }

    @Test("a program that is alone on its schema has several logs, too")
    func alone() async throws {
        let database = try open(4, claim: .alone)
        try await append(to: 403, of: database)
        #expect(throws: StorageError.self) { try open(4) }
        await database.close()
    }

    @Test("a repair beside the programs writes to the log that it names, alone")
    func maintenance() async throws {
        let database = try open(4)
        try await append(to: 401, of: database)
        let console = try PostgresMaintenance(existing: try PostgresServer.url(), schema: schema)
        #expect(try console.countLogs() == 4)
        let seq = try console.write(in: 401) { connection in
            try EventLog.append(
                at: Timestamp(milliseconds: 7), roomID: "room", participants: [], emissions: [], on: connection)
        }
        #expect(seq == 2)
        #expect(try await EventLog(database, log: 401).head() == 2)
        console.close()
        await database.close()
    }

    @Test("pruning keeps the newest entry of each log, and deletes the logs of an earlier number once they are old")
    func pruning() async throws {
        let single = try open(1)
        try await append(3, to: 0, of: single)
        await single.close()
        let database = try await retried { try open(2) }
        try await append(3, to: 201, of: database)
        let logs = EventLogs(database, LogLayout(count: 2))
        func prune(at milliseconds: Int) async throws -> Int {
            try await logs.prune(
                olderThan: Timestamp(milliseconds: milliseconds), at: Timestamp(milliseconds: milliseconds + 1))
        }
        #expect(try await prune(at: 7) == 0)
        #expect(try await prune(at: 8) == 2 + 3)
        #expect(try await EventLog(database, log: 201).entries(since: 0, limit: 9).map(\.seq) == [3])
        #expect(try await EventLog(database).newestEntry() == nil)
        await database.close()
    }
}

extension EventLog {
    fileprivate func newestEntry() async throws -> LogEntry? { try await database.read { try newest(on: $0) } }
}
