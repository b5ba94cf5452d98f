import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorStorage
import ParlorTestSupport
import Synchronization
import Testing

/// The promises of every engine.
@Suite("Writing to a database")
struct WriteConformanceTests {
    private let folder = TemporaryFolder()

    @Test("a commit waits for the disk if any of its writes asks for that", arguments: Engine.lasting)
    func durability(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let waits: @Sendable (any Connection) throws -> Bool = { connection in
            switch engine {
            case .file, .temporary: try connection.first("PRAGMA synchronous") { $0.int(0) } == 2  // FULL
            case .postgres: try connection.first("SHOW synchronous_commit") { $0.text(0) } == "on"
            }
        }
        #expect(try await database.write { try waits($0) })
        #expect(try await !database.write(.relaxed) { try waits($0) })
        #expect(try await database.write { try waits($0) })
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let together = [Durability.relaxed, .synced, .relaxed].map { durability in
            Task.immediate { try await database.write(durability) { try waits($0) } }
        }
        try gate.open()
        try await blocked.value
        for write in together { #expect(try await write.value) }
        await database.close()
    }

    @Test("writes that find no space show that writing fails, alone and in a batch", arguments: Engine.allCases)
    func failing(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let fail: @Sendable (any Connection) throws -> Void = { _ in throw StorageError.full }
        await #expect(throws: StorageError.full) { try await database.write { try fail($0) } }
        #expect(database.statistics.isWritingFailing)
        try await database.insert("a")
        #expect(!database.statistics.isWritingFailing)
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let together = (0..<3).map { _ in Task.immediate { try await database.write { try fail($0) } } }
        try gate.open()
        try await blocked.value
        for write in together { await #expect(throws: StorageError.full) { try await write.value } }
        #expect(database.statistics.isWritingFailing)
        let unique = StorageError.unique("x")
        await #expect(throws: unique) { try await database.write { _ in throw unique } }
        try await database.insert("b")
        #expect(!database.statistics.isWritingFailing)
        await database.close()
    }

    @Test("a write that throws is rolled back alone, with its hooks and its entries", arguments: Engine.allCases)
    func isolation(engine: Engine) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        let reported = Collector<String>()
        database.onCommit { reported.add(entries: $0) }
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let writes = (0..<10).map { n in
            Task.immediate {
                try await database.write { connection in
                    try connection.execute("INSERT INTO items (id) VALUES ($1)", "\(n)")
                    try EventLog.append(
                        at: Timestamp(milliseconds: n), roomID: "room \(n)", participants: [], emissions: [],
                        on: connection)
                    connection.afterCommit { reported.add(["hook \(n)"]) }
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
        #expect(reported.items == kept.map { "hook \($0)" } + kept.map { "room \($0)" })
        let entries = try await EventLog(database).entries(since: 0, limit: 100)
        #expect(entries.map(\.seq) == Array(1...6))
        #expect(entries.map(\.at.milliseconds) == kept)
    }

    @Test(
        "a write that throws before it changes anything does not run its batch again", arguments: Engine.allCases)
    func refusal(engine: Engine) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        try await database.insert("0")
        let runs = Collector<String>()
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let writes = (1...9).map { n in
            Task.immediate {
                try await database.write { connection in
                    runs.add(["\(n)"])
                    if n.isMultiple(of: 3) {
                        _ = try connection.first("SELECT id FROM items WHERE id = $1", "0") { $0.text(0) }
                        try connection.execute("DELETE FROM items WHERE id = $1", "no such item")
                        throw Refused()
                    }
                    try connection.execute("INSERT INTO items (id) VALUES ($1)", "\(n)")
                }
            }
        }
        try gate.open()
        try await blocked.value
        for (index, write) in writes.enumerated() {
            switch await write.result {
            case .success: #expect(!(index + 1).isMultiple(of: 3))
            case .failure(let error): #expect((index + 1).isMultiple(of: 3) && error is Refused)
            }
        }
        #expect(runs.items == (1...9).map { "\($0)" })
        #expect(try await database.ids() == ["0", "1", "2", "4", "5", "7", "8"])
    }

    /// The ways in which a write could leave something behind.
    enum Trace: CaseIterable {
        case row, returnedRow, rowOfAThrowingBody, changedRow, hook, failedStatement

        func leave(on connection: any Connection, in reported: Collector<String>) throws {
            let insert = "INSERT INTO items (id, n) VALUES ($1, 1) RETURNING id"
            switch self {
            case .row: try connection.execute("INSERT INTO items (id) VALUES ($1)", "trace")
            case .returnedRow: _ = try connection.first(insert, "trace") { $0.text(0) }
            case .rowOfAThrowingBody: try connection.query(insert, "trace") { _ in throw StorageError.closed }
            case .changedRow:
                _ = try connection.first(
                    "INSERT INTO items (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET n = 1 RETURNING n", "first"
                ) { $0.int(0) }
            case .hook: connection.afterCommit { reported.add(["hook"]) }
            case .failedStatement: try connection.execute("INSERT INTO items (id) VALUES ($1)", "first")
            }
        }
    }

    @Test(
        "a write that throws leaves nothing, however it fails; the others of its batch stay, and are answered once",
        arguments: Engine.allCases, Trace.allCases)
    func undone(engine: Engine, trace: Trace) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        let reported = Collector<String>()
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let first = Task.immediate { try await database.insert("first") }
        let refused = Task.immediate {
            try await database.write { _ in
                reported.add(["refused"])
                throw Refused()
            }
        }
        // The last of its batch: nothing that comes after it finds the transaction useless.
        let undone = Task.immediate {
            try await database.write { connection in
                try? trace.leave(on: connection, in: reported)
                throw Refused()
            }
        }
        try gate.open()
        try await blocked.value
        try await first.value
        for write in [refused, undone] { await #expect(throws: Refused.self) { try await write.value } }
        #expect(reported.items == ["refused", "refused"])
        let rows = try await database.read { try $0.all("SELECT id, n FROM items") { ($0.text(0), $0.isNull(1)) } }
        #expect(rows.map(\.0) == ["first"] && rows.allSatisfy { $0.1 })
    }

    /// The ways in which a write that is not waited for could take others down.
    enum LateFailure: CaseIterable {
        case throwing, violating, unstorable, tooLong
    }

    @Test(
        "of 1,024 writes in a commit that are not waited for, one that fails fails alone",
        arguments: Engine.allCases, LateFailure.allCases)
    func lateFailure(engine: Engine, failure: LateFailure) async throws {
        struct Refused: Error {}
        let database = try engine.open(in: folder)
        try await database.insert("taken")
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let writes = (1...1024).map { n in
            Task.immediate {
                try await database.write { connection in
                    let insert = "INSERT INTO items (id) VALUES ($1)"
                    try connection.executeLater(insert, "\(n)")
                    var emissions: [Emission] = []
                    if n == 512 {
                        switch failure {
                        case .throwing: throw Refused()
                        case .violating: try connection.executeLater(insert, "taken")
                        case .unstorable: try connection.executeLater(insert, "\0")
                        case .tooLong:
                            let text = JSONValue(String(repeating: "x", count: 1 << 21))
                            emissions = [Emission(to: .room, "event", text)]
                        }
                    }
                    return try EventLog.append(
                        at: Timestamp(milliseconds: n), roomID: "room", participants: [], emissions: emissions,
                        on: connection)
                }
            }
        }
        try gate.open()
        try await blocked.value
        for (index, write) in writes.enumerated() {
            let n = index + 1
            switch await write.result {
            case .success(let seq): #expect(seq == (n < 512 ? n : n - 1) && n != 512)
            case .failure(let error):
                #expect(n == 512)
                switch failure {
                case .throwing: #expect(error is Refused)
                case .violating: #expect(!((error as? StorageError)?.isRetryable ?? true))
                case .unstorable: #expect(error as? StorageError == .unstorableText)
                case .tooLong: #expect(error is EntryTooLong)
                }
            }
        }
        #expect(try await database.ids().count == 1024)
        #expect(try await EventLog(database).entries(since: 0, limit: 2000).map(\.seq) == Array(1...1023))
        await database.close()
    }

    @Test("the writability check changes nothing", arguments: Engine.allCases)
    func trial(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let id = { @Sendable in
            try await database.read { try $0.all("SELECT id FROM database_identity") { $0.text(0) } }
        }
        let before = try await id()
        try await database.tryWriting(in: 0)
        #expect(try await id() == before && before == [database.databaseID])
    }

    @Test("concurrent writes share a commit", arguments: Engine.allCases)
    func groupCommit(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gate = DatabaseGate()
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
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let writes = (0..<35).map { n in Task.immediate { try await database.insert("\(n)") } }
        try gate.open()
        try await blocked.value
        for write in writes { try await write.value }
        #expect(database.statistics.commits == 5)
    }

    @Test("writes run and are reported in the order of the calls", arguments: Engine.allCases)
    func order(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let reported = Collector<String>()
        database.onCommit { reported.add(entries: $0) }
        let writes = (0..<300).map { n in
            Task.immediate {
                try await database.write { connection in
                    try EventLog.append(
                        at: Timestamp(milliseconds: 0), roomID: "\(n)", participants: [], emissions: [], on: connection)
                }
            }
        }
        var positions: [Int] = []
        for write in writes { positions.append(try await write.value) }
        #expect(positions == Array(1...300))
        #expect(reported.items == (0..<300).map { "\($0)" })
    }

    @Test("the hook has run before the write returns", arguments: Engine.allCases)
    func toldBeforeTheAnswer(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let reported = Collector<String>()
        database.onCommit { reported.add(entries: $0) }
        for n in 1...50 {
            try await database.write {
                try EventLog.append(
                    at: Timestamp(milliseconds: 0), roomID: "\(n)", participants: [], emissions: [], on: $0)
            }
            #expect(reported.items.count == n)
        }
    }

    @Test("a cancelled caller does not cancel its write", arguments: Engine.allCases)
    func cancellation(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let gate = DatabaseGate()
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
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let large = Task.immediate { try await database.write(holding: 20_000) { _ in } }
        await #expect(throws: StorageError.overloaded) { try await database.insert("too many bytes") }
        try gate.open()
        try await blocked.value
        try await large.value

        let secondGate = DatabaseGate()
        let blockedAgain = await database.close(secondGate)
        let three = (0..<3).map { n in Task.immediate { try await database.insert("\(n)") } }
        await #expect(throws: StorageError.overloaded) { try await database.insert("too many") }
        try secondGate.open()
        try await blockedAgain.value
        for write in three { try await write.value }
        try await database.insert("again")
        #expect(try await database.ids() == ["0", "1", "2", "again"])
    }
}

extension Collector<String> {
    /// Collects the rooms of event log entries.
    func add(entries: [any CommitEvent]) { add(entries.compactMap { ($0 as? LogEntry)?.roomID }) }
}
