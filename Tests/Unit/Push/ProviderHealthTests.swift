import ServiceKit
import TestSupport
import Testing

@testable import Push

@Suite("How a provider is")
struct ProviderHealthTests {
    private let log = CapturedLog()
    private let health: ProviderHealth
    private let start = ContinuousClock.now

    init() {
        health = ProviderHealth(of: .production, log: log.logger)
    }

    private func allowance(after seconds: Int) -> (count: Int, pause: Duration) {
        health.allowance(of: 100, at: start + .seconds(seconds))
    }

    private func note(_ outcome: PushOutcome, after seconds: Int = 0, times: Int = 1) {
        for _ in 0..<times { health.note(outcome, at: start + .seconds(seconds)) }
    }

    @Test("a provider that takes nothing is tried with one at a time, and said so once")
    func settings() {
        #expect(allowance(after: 0).count == 1, "unknown")
        note(.delivered)
        #expect(allowance(after: 0).count == 100)
        note(.misconfigured(reason: "BadTopic"), times: 100)
        #expect(allowance(after: 0) == (0, .seconds(60)))
        note(.delivered, after: 1)
        #expect(health.isFailing, "that one was under way before")
        #expect(allowance(after: 60).count == 1 && log.lines.count == 1)
        note(.misconfigured(reason: "BadTopic"), after: 60)
        #expect(log.lines.count == 1)
        note(.delivered, after: 120)
        #expect(!health.isFailing && log.lines.count == 2 && allowance(after: 120).count == 100)
    }

    @Test("before anything was delivered, no other answer proves it; a few bad tokens are a wrong setting")
    func unproven() {
        for outcome: PushOutcome in [
            .gone(since: .init(milliseconds: 0), reason: "Unregistered"), .refused(reason: "PayloadTooLarge"),
            .later(reason: "TooManyRequests", of: .device), .badToken(reason: "BadDeviceToken"),
        ] {
            note(outcome)
            #expect(allowance(after: 0).count == 1)
        }
        note(.badToken(reason: "BadDeviceToken"), times: 4)
        #expect(allowance(after: 0).count == 0 && health.isFailing && log.lines.count == 1)
        note(.delivered, after: 60)
        note(.badToken(reason: "BadDeviceToken"), after: 60, times: 100)
        #expect(allowance(after: 60).count == 100 && !health.isFailing)
    }

    @Test("one that answers nothing any more is tried with one at a time, and that is said after half a minute")
    func unanswered() {
        note(.delivered)
        note(.unanswered(reason: "connection", detail: "refused"), after: 1, times: 64)
        #expect(allowance(after: 1).count == 1 && !health.isFailing && log.lines.count == 0)
        note(.unanswered(reason: "connection", detail: "refused"), after: 31, times: 10)
        #expect(health.isFailing && log.lines.count == 1)
        note(.later(reason: "TooManyRequests", of: .device), after: 32)
        #expect(allowance(after: 32).count == 100 && !health.isFailing && log.lines.count == 2)
    }

    @Test("one that asks to be left alone is, and those that were under way together count once")
    func busy() {
        note(.delivered)
        note(.later(reason: "ServiceUnavailable", of: .everything), times: 50)
        #expect(allowance(after: 0).count == 0 && allowance(after: 0).pause <= .seconds(1))
        #expect(allowance(after: 1).count == 1 && !health.isFailing)
        note(.later(reason: "ServiceUnavailable", after: .seconds(60), of: .everything), after: 1)
        #expect(allowance(after: 60).count == 0 && allowance(after: 64).count == 1)
        #expect(health.isFailing && log.lines.count == 1, "a minute is long")
        note(.delivered, after: 64)
        #expect(allowance(after: 64).count == 100)
    }

    @Test("one that fails at single notifications goes on with the others")
    func failing() {
        note(.delivered)
        for _ in 1...10 {
            note(.later(reason: "InternalServerError", of: .notification), times: 60)
            #expect(allowance(after: 0).count == 100)
            note(.delivered)
        }
    }
}
