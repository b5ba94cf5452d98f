import Contracts
import JSON
import ServiceKit
import Storage
import TestSupport
import Testing

@testable import EventLog

@Suite("Pruning the event log")
struct LogPruningTests {
    @Test("entries are pruned when they are a day old, and the newest one stays")
    func prunes() async throws {
        let database = try SQLiteDatabase(.temporary, migrations: [])
        let clock = ManualClock()
        let pruning = LogPruning(database, clock: clock, log: .silent)
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

    @Test("an entry from a clock that was ahead does not keep the later ones")
    func ahead() async throws {
        let database = try SQLiteDatabase(.temporary, migrations: [])
        let clock = ManualClock()
        let pruning = LogPruning(database, clock: clock, log: .silent)
        for ahead in [0, 31_536_000, 0, 0] {
            let at = clock.now().adding(.seconds(ahead))
            try await database.write { connection in
                _ = try EventLog.append(at: at, roomID: "r", participants: [], emissions: [], on: connection)
            }
            clock.advance(by: .seconds(40_000))
        }
        clock.advance(by: .seconds(200_000))
        await pruning.prune()
        #expect(try await EventLog(database).oldest() == 4)
        await database.close()
    }
}
