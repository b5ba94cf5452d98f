import Reactor
import Testing

@testable import RoomViews

@Suite("Pauses of services that are late")
struct AnswerPausesTests {
    private let pauses = AnswerPauses()
    private let start = LoopInstant.now()

    /// Asks at a second, and waits for another second in vain.
    private func wait(at second: Int) {
        let asked = start + .seconds(second)
        pauses.note(isLate: true, "slow", asked: asked, at: asked + .seconds(1))
    }

    private func mayAsk(at second: Double, hasTime: Bool = true) -> Bool {
        pauses.mayAsk("slow", hasTime: hasTime, at: start + .milliseconds(Int(second * 1000)))
    }

    @Test("after some late answers in a row a service is not asked for a while; others are")
    func pause() {
        for second in 0..<AnswerPauses.maxLate {
            #expect(mayAsk(at: Double(second)))
            wait(at: second)
        }
        #expect(!mayAsk(at: 3.5))
        #expect(pauses.mayAsk("quick", hasTime: true, at: start + .milliseconds(3500)))
        pauses.note(isLate: false, "slow", asked: start)
        #expect(mayAsk(at: 3.5))
    }

    @Test("after a pause one caller asks, which has time to wait; a late answer doubles the pause, up to four seconds")
    func probes() {
        for second in 0..<AnswerPauses.maxLate { wait(at: second) }
        #expect(!mayAsk(at: 4, hasTime: false))
        #expect(mayAsk(at: 4) && !mayAsk(at: 4))
        wait(at: 4)
        #expect(!mayAsk(at: 6.9) && mayAsk(at: 7))
        wait(at: 7)
        #expect(!mayAsk(at: 11.9) && mayAsk(at: 12))
        wait(at: 12)
        #expect(!mayAsk(at: 16.9) && mayAsk(at: 17))
    }

    @Test("callers that waited at the same time count as one late answer")
    func oneStall() {
        for _ in 0..<100 { wait(at: 0) }
        #expect(mayAsk(at: 1))
    }

    @Test("an answer in time between late ones ends the count")
    func inTime() {
        for round in 0..<10 {
            for second in 1..<AnswerPauses.maxLate { wait(at: 10 * round + second) }
            pauses.note(isLate: false, "slow", asked: start)
        }
        #expect(mayAsk(at: 100))
    }
}
