import ParlorServiceKit
import ParlorTestSupport
import Testing

@testable import ParlorPush

@Suite("The health of a provider")
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

    @Test("a provider that accepts nothing is tried with one at a time, and logged once")
    func settings() {
        #expect(allowance(after: 0).count == 1, "unknown")
        note(.delivered)
        #expect(allowance(after: 0).count == 100)
        note(.misconfigured(reason: "BadTopic"), times: 100)
        #expect(allowance(after: 0) == (0, .seconds(60)))
        note(.delivered, after: 1)
        #expect(health.isFailing, "that one was in progress before")
        #expect(allowance(after: 60).count == 1 && log.lines.count == 1)
        note(.misconfigured(reason: "BadTopic"), after: 60)
        #expect(log.lines.count == 1)
        note(.delivered, after: 120)
        #expect(!health.isFailing && log.lines.count == 2 && allowance(after: 120).count == 100)
    }

    @Test("before a first delivery no other answer proves it; a few bad tokens mean a wrong setting")
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

    @Test("a provider that stops answering is tried with one at a time, and logged after half a minute")
    func unanswered() {
        note(.delivered)
        note(.unanswered(reason: "connection", detail: "refused"), after: 1, times: 64)
        #expect(allowance(after: 1).count == 1 && !health.isFailing && log.lines.count == 0)
        note(.unanswered(reason: "connection", detail: "refused"), after: 31, times: 10)
        #expect(health.isFailing && log.lines.count == 1)
        note(.later(reason: "TooManyRequests", of: .device), after: 32)
        #expect(allowance(after: 32).count == 100 && !health.isFailing && log.lines.count == 2)
    }

    @Test("a provider that asks for a pause gets it, and concurrent requests count once")
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

    @Test("a provider that fails on single notifications continues with the others")
    func failing() {
        note(.delivered)
        for _ in 1...10 {
            note(.later(reason: "InternalServerError", of: .notification), times: 60)
            #expect(allowance(after: 0).count == 100)
            note(.delivered)
        }
    }
}
