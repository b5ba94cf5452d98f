import ParlorReactor
import Testing

@testable import ParlorServiceClient

@Suite("Circuit breakers of services that are late")
struct CircuitBreakersTests {
    private let breakers = CircuitBreakers()
    private let start = LoopInstant.now()

    /// Asks at a second, and waits for another second in vain.
    private func wait(at second: Int) {
        let asked = start + .seconds(second)
        breakers.note(isLate: true, "slow", asked: asked, at: asked + .seconds(1))
    }

    private func allows(at second: Double, hasTime: Bool = true) -> Bool {
        breakers.allow("slow", hasTime: hasTime, at: start + .milliseconds(Int(second * 1000)))
    }

    @Test("after some late replies in a row a service is not asked for a while; others are")
    func pause() {
        for second in 0..<CircuitBreakers.maxLate {
            #expect(allows(at: Double(second)))
            wait(at: second)
        }
        #expect(!allows(at: 3.5))
        #expect(breakers.allow("quick", hasTime: true, at: start + .milliseconds(3500)))
        breakers.note(isLate: false, "slow", asked: start)
        #expect(allows(at: 3.5))
    }

    @Test("after a pause one caller asks, which has time to wait; a late reply doubles the pause, up to four seconds")
    func probes() {
        for second in 0..<CircuitBreakers.maxLate { wait(at: second) }
        #expect(!allows(at: 4, hasTime: false))
        #expect(allows(at: 4) && !allows(at: 4))
        wait(at: 4)
        #expect(!allows(at: 6.9) && allows(at: 7))
        wait(at: 7)
        #expect(!allows(at: 11.9) && allows(at: 12))
        wait(at: 12)
        #expect(!allows(at: 16.9) && allows(at: 17))
    }

    @Test("callers that waited at the same time count as one late reply")
    func oneStall() {
        for _ in 0..<100 { wait(at: 0) }
        #expect(allows(at: 1))
    }

    @Test("a reply in time between late ones ends the count")
    func inTime() {
        for round in 0..<10 {
            for second in 1..<CircuitBreakers.maxLate { wait(at: 10 * round + second) }
            breakers.note(isLate: false, "slow", asked: start)
        }
        #expect(allows(at: 100))
    }
}
