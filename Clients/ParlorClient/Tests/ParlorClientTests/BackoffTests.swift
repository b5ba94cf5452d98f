import Testing

@testable import ParlorClient

@Suite("Backoff")
struct BackoffTests {
    @Test("a pause is a random part of a bound that doubles from half a second to thirty")
    func bounds() {
        var backoff = Backoff()
        let bounds = (0..<9).map { _ in backoff.next(random: 1) / .seconds(1) }
        #expect(bounds == [0.5, 1, 2, 4, 8, 16, 30, 30, 30])
        backoff.reset()
        #expect(backoff.next(random: 0) == .zero)
        let nearly = backoff.next(random: 0.999)
        #expect(nearly > .milliseconds(998) && nearly < .seconds(1))
    }

    @Test("a pause is at least as long as the server asks, and counts as a failure")
    func asked() {
        var backoff = Backoff()
        #expect(backoff.next(random: 0.5, atLeast: .seconds(3)) == .seconds(3))
        #expect(backoff.next(random: 0.5, atLeast: .milliseconds(100)) == .milliseconds(500))
    }

    @Test("it can begin with failures that were counted elsewhere")
    func counted() {
        func bound(_ failures: Int) -> Duration {
            var backoff = Backoff(from: .seconds(1), upTo: .seconds(10), after: failures)
            return backoff.next(random: 1)
        }
        #expect([0, 1, 3, 4, 1000].map(bound) == [.seconds(1), .seconds(2), .seconds(8), .seconds(10), .seconds(10)])
    }
}
