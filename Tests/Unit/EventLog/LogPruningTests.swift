import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorEventLog

@Suite("Pruning the event log")
struct LogPruningTests {
    @Test("entries are pruned when they are a day old, and the newest one stays")
    func prunes() async throws {
        let database = try SQLiteDatabase(.temporary, migrations: [])
        let clock = ManualClock()
        let pruning = LogPruning(EventLogs(database), clock: clock, log: .silent)
        for _ in 0..<3 {
            let at = clock.now()
            try await database.write { connection in
                _ = try EventLog.append(at: at, roomID: "r", participants: [], emissions: [], on: connection)
            }
            clock.advance(by: .seconds(40_000))
        }
        await pruning.prune()
        #expect(try await EventLog(database).oldest() == 1, "until a day ago everyone stood there")
        clock.advance(by: .seconds(200_000))
        await pruning.prune()
        #expect(try await EventLog(database).oldest() == 3)
        await database.close()
    }

    @Test("entries from a clock that was ahead do not keep the later ones", arguments: [1, 2500])
    func ahead(count: Int) async throws {
        let database = try SQLiteDatabase(.temporary, migrations: [])
        let clock = ManualClock()
        let pruning = LogPruning(EventLogs(database), clock: clock, log: .silent)
        func append(_ count: Int, ahead: Int = 0) async throws {
            let at = clock.now().adding(.seconds(ahead))
            try await database.write { connection in
                for _ in 0..<count {
                    _ = try EventLog.append(at: at, roomID: "r", participants: [], emissions: [], on: connection)
                }
            }
        }
        try await append(1)
        try await append(count, ahead: 31_536_000)
        try await append(2)
        clock.advance(by: .seconds(200_000))
        await pruning.prune()
        #expect(try await EventLog(database).oldest() == count + 3)
        await database.close()
    }
}
