import Testing

@testable import ParlorReactor

@Suite struct LoopInstantTests {
    @Test("durations are rounded up to whole nanoseconds, and no sum overflows")
    func arithmetic() {
        let start = LoopInstant(nanoseconds: 1_000)
        #expect((start + .nanoseconds(5)).nanoseconds == 1_005)
        #expect((start + Duration(secondsComponent: 0, attosecondsComponent: 1)).nanoseconds == 1_001)
        #expect(start + .seconds(-1) == start)
        #expect((start + .seconds(Int64.max)).nanoseconds == .max)
        #expect(start + .milliseconds(1) - start == .milliseconds(1))
        #expect(start - (start + .milliseconds(1)) == .milliseconds(-1))
    }

    @Test("the clock does not run backwards")
    func monotonic() {
        let first = LoopInstant.now()
        #expect(LoopInstant.now() >= first)
    }
}
