import Contracts
import ServiceKit
import Synchronization

/// The health of one of the provider's environments. If nothing gets through, it is tried with one
/// notification at a time, and the reason is logged once.
final class ProviderHealth: Sendable {
    /// After a mistake of the settings, until the next try.
    static let pause: Duration = .seconds(60)

    let environment: Device.Environment
    private let state = Mutex(ProviderState())
    private let log: Logger

    init(of environment: Device.Environment, log: Logger) {
        self.environment = environment
        self.log = log
    }

    /// True if nothing gets through, and that was logged.
    var isFailing: Bool { state.withLock { $0.failure.isThere } }

    /// True once anything was delivered since the process began. Until then a bad token may be a
    /// wrong setting.
    var hasDelivered: Bool { state.withLock { $0.hasDelivered } }

    /// The number of attempts that may be in progress, of a maximum; if none, for how long.
    func allowance(of limit: Int, at now: ContinuousClock.Instant = .now) -> (count: Int, pause: Duration) {
        state.withLock { state in
            if state.isPaused(at: now), let end = state.pausedUntil { return (0, end - now) }
            return (state.isProven ? limit : 1, .zero)
        }
    }

    func note(_ outcome: PushOutcome, at now: ContinuousClock.Instant = .now) {
        switch state.withLock({ $0.note(outcome, at: now) }) {
        case .none: break
        case .settings(let reason, let detail):
            log.error(
                "the push provider takes nothing: a key, a topic or an address is wrong; it is tried once a minute",
                ["environment": environment.rawValue, "reason": reason, "detail": detail])
        case .away(let reason, let detail):
            log.warning(
                "the push provider does not answer, or takes nothing for now",
                ["environment": environment.rawValue, "reason": reason, "detail": detail])
        case .well:
            log.info("the push provider takes notifications again", ["environment": environment.rawValue])
        }
    }
}

/// The state that attempts lead to, one after the other.
private struct ProviderState {
    /// Attempts in vain, one after the other, after which it is tried with one at a time.
    private static let maxFailures = 64
    /// For how long nothing has to get through until that is worth a line.
    private static let maxWait: Duration = .seconds(30)
    /// Bad tokens without a delivery after which a setting is suspected: with a wrong topic all are bad.
    private static let maxBadTokens = 5
    /// Pauses are twice as long each time, up to this one: that it is well again is found out within half a minute.
    private static let longestPause = 5

    var hasDelivered = false
    /// Unknown at first: a wrong key is found out with one notification.
    var isProven = false
    var pausedUntil: ContinuousClock.Instant?
    var failure = RepeatedFailure()
    /// Since it last took something: attempts in vain, when the first was, pauses that it asked for, bad tokens.
    private var failures = 0
    private var failingSince: ContinuousClock.Instant?
    private var pauses = 0
    private var badTokens = 0

    /// A change that is worth a log line.
    enum Change {
        case settings(reason: String, detail: String)
        case away(reason: String, detail: String)
        case well
    }

    func isPaused(at now: ContinuousClock.Instant) -> Bool { pausedUntil.map { $0 > now } ?? false }

    mutating func note(_ outcome: PushOutcome, at now: ContinuousClock.Instant) -> Change? {
        switch outcome {
        case .delivered:
            hasDelivered = true
            return recover(at: now)
        case .misconfigured(let reason, let detail): return stop(reason, detail, at: now)
        case .badToken(let reason) where !hasDelivered:
            badTokens += 1
            return badTokens < Self.maxBadTokens ? nil : stop(reason, "nothing was delivered yet", at: now)
        case .later(let reason, let asked, .everything):
            let isFirst = !isPaused(at: now)
            if isFirst { pauses += 1 }
            // Those that were under way together are one failure, and the longest that one asks for counts.
            if isFirst || asked != nil {
                let delay = RetryPolicy.delay(
                    after: min(pauses - 1, Self.longestPause), asked: asked, chance: .random(in: 0...1))
                pausedUntil = max(pausedUntil ?? now, now + delay)
            }
            isProven = false
            return fail(reason, "it asks to be left alone", at: now)
        case .later(let reason, _, .notification): return fail(reason, "", at: now)
        case .unanswered(let reason, let detail): return fail(reason, detail, at: now)
        // An answer, though one that says little of what others will get before anything was delivered.
        case .gone, .badToken, .later(_, _, .device): return hasDelivered ? recover(at: now) : nil
        case .refused: return nil
        }
    }

    private mutating func stop(_ reason: String, _ detail: String, at now: ContinuousClock.Instant) -> Change? {
        isProven = false
        pausedUntil = max(pausedUntil ?? now, now + ProviderHealth.pause)
        return failure.note(reason) ? .settings(reason: reason, detail: detail) : nil
    }

    private mutating func fail(_ reason: String, _ detail: String, at now: ContinuousClock.Instant) -> Change? {
        failures += 1
        if failures >= Self.maxFailures { isProven = false }
        let since = failingSince ?? now
        failingSince = since
        let isLong = max(now, pausedUntil ?? now) - since >= Self.maxWait
        return isLong && failure.note("away") ? .away(reason: reason, detail: detail) : nil
    }

    private mutating func recover(at now: ContinuousClock.Instant) -> Change? {
        // One that was sent before a mistake was found says nothing of what comes after it.
        guard !isPaused(at: now) else { return nil }
        (isProven, pausedUntil) = (true, nil)
        (failures, failingSince, pauses, badTokens) = (0, nil, 0, 0)
        return failure.end() ? .well : nil
    }
}

/// When a push is tried again that a provider did not take.
enum RetryPolicy {
    private static let shortest = 1000
    private static let longest = 300_000
    /// The longest wait that a server can demand: after it, it is tried again anyway.
    private static let longestAsked: Duration = .seconds(3600)

    /// The wait after a failure: as the server asks, and then twice as long each time. Half of it
    /// is random, so attempts that failed together do not return together.
    ///
    /// - Parameters:
    ///   - attempts: those before the one that failed.
    ///   - asked: the wait that the server demands.
    ///   - chance: from 0 to 1.
    static func delay(after attempts: Int, asked: Duration?, chance: Double) -> Duration {
        let full = min(shortest << min(max(attempts, 0), 16), longest)
        let delay = Duration.milliseconds(full / 2 + Int(Double(full / 2) * chance))
        return min(asked ?? .zero, longestAsked) + delay
    }
}
