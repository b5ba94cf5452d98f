import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

@Suite("within", .timeLimit(.minutes(1)))
struct DeadlineTests {
    private let clock = TestClock()

    @Test("work that never ends is not waited for longer, and what it comes to all the same is not lost")
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

    @Test("one who is cancelled waits no longer")
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

    @Test("what is done in time is given, and the clock left alone")
    func inTime() async throws {
        #expect(try await within(.seconds(5), by: clock, else: "too long") { 1 } == 1)
        await TestClock.settle()
        #expect(clock.sleepers.isEmpty)
    }
}
