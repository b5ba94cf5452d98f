import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("within", .timeLimit(.minutes(1)))
struct DeadlineTests {
    private let clock = TestClock()

    @Test("endless work is not awaited beyond the deadline, and its late result is passed on")
    func endless() async throws {
        let gate = Gate()
        let (late, lateness) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .unbounded)
        let asking = Task { [clock] in
            try await within(.seconds(5), by: clock, else: "too long", tooLate: { lateness.yield($0) }) {
                await gate.pass()
                return 1
            }
        }
        await gate.isReached()
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        await #expect(throws: ClientFailure.offline("too long")) { try await asking.value }
        await gate.open()
        #expect(await late.first { _ in true } == 1)
    }

    @Test("a cancelled caller stops waiting")
    func cancelled() async throws {
        let gate = Gate()
        let asking = Task { [clock] in
            try await within(.seconds(5), by: clock, else: "too long") { await gate.pass() }
        }
        await gate.isReached()
        asking.cancel()
        await #expect(throws: CancellationError.self) { try await asking.value }
        await gate.open()
    }

    @Test("a result in time is returned, and leaves no sleep behind")
    func inTime() async throws {
        #expect(try await within(.seconds(5), by: clock, else: "too long") { 1 } == 1)
        await TestClock.settle()
        #expect(clock.sleepers.isEmpty)
    }
}
