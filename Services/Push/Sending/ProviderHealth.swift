import ParlorContracts
import ParlorServiceKit
import Synchronization

/// The health of one of the provider's environments. If no attempt succeeds, notifications are tried one at a
/// time, and the reason is logged once.
final class ProviderHealth: Sendable {
    /// The pause after a mistake in the settings.
    static let pause: Duration = .seconds(60)

    let environment: Device.Environment
    private let state = Mutex(ProviderState())
    private let log: Logger

    init(of environment: Device.Environment, log: Logger) {
        self.environment = environment
        self.log = log
    }

    /// True if no attempt succeeds, and that was logged.
    var isFailing: Bool { state.withLock { $0.failure.isThere } }

    /// True once anything was delivered since the process started. Until then a bad token may be a wrong
    /// setting.
    var hasDelivered: Bool { state.withLock { $0.hasDelivered } }

    /// Returns how many attempts may be in progress, at most `limit`. If none may, it also returns
    /// for how long.
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
                "the push provider accepts nothing: a key, a topic or an address is wrong; it is tried once a minute",
                ["environment": environment.rawValue, "reason": reason, "detail": detail])
        case .unavailable(let reason, let detail):
            log.warning(
                "the push provider does not answer, or accepts nothing for now",
                ["environment": environment.rawValue, "reason": reason, "detail": detail])
        case .well:
            log.info("the push provider accepts notifications again", ["environment": environment.rawValue])
        }
    }
}

/// The state that results from attempts, one after the other.
private struct ProviderState {
    /// The number of failed attempts in a row after which notifications are tried one at a time.
    private static let maxFailures = 64
    /// The time without a successful attempt that is worth a log line.
    private static let maxWait: Duration = .seconds(30)
    /// The number of bad tokens without a delivery after which a setting is suspected: with a wrong topic all
    /// are bad.
    private static let maxBadTokens = 5
    /// The number of pauses after which they no longer grow. So the longest pause is half a minute, unless the server
    /// asks for a longer one.
    private static let longestPause = 5

    var hasDelivered = false
    /// False at first, so that a wrong key is found with one notification.
    var isProven = false
    var pausedUntil: ContinuousClock.Instant?
    var failure = RepeatedFailure()
    /// Values since the last accepted notification: failed attempts, the time of the first, requested pauses,
    /// bad tokens.
    private var failures = 0
    private var failingSince: ContinuousClock.Instant?
    private var pauses = 0
    private var badTokens = 0

    /// A change that is worth a log line.
    enum Change {
        case settings(reason: String, detail: String)
        case unavailable(reason: String, detail: String)
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
            // Concurrent attempts are one failure, with the longest pause that one of them requests.
            if isFirst || asked != nil {
                let delay = RetryPolicy.delay(
                    after: min(pauses - 1, Self.longestPause), asked: asked, chance: .random(in: 0...1))
                pausedUntil = max(pausedUntil ?? now, now + delay)
            }
            isProven = false
            return fail(reason, "the provider asked for a pause", at: now)
        case .later(let reason, _, .notification): return fail(reason, "", at: now)
        case .unanswered(let reason, let detail): return fail(reason, detail, at: now)
        // It is an answer, but before the first delivery it says little about other notifications.
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
        return isLong && failure.note("unavailable") ? .unavailable(reason: reason, detail: detail) : nil
    }

    private mutating func recover(at now: ContinuousClock.Instant) -> Change? {
        // An attempt that began before a mistake was found says nothing about later ones.
        guard !isPaused(at: now) else { return nil }
        (isProven, pausedUntil) = (true, nil)
        (failures, failingSince, pauses, badTokens) = (0, nil, 0, 0)
        return failure.end() ? .well : nil
    }
}

/// The rule for when a rejected notification is tried again.
enum RetryPolicy {
    private static let shortest = 1000
    private static let longest = 300_000
    /// The longest wait that a server can demand; after it, the notification is tried again anyway.
    private static let longestAsked: Duration = .seconds(3600)

    /// Returns the wait after a failure: the server's demand, plus a time that doubles with each failure.
    /// Half of that time is random, so that attempts that failed together are not repeated together.
    ///
    /// - Parameters:
    ///   - attempts: the number of attempts before the failed one.
    ///   - asked: the wait that the server demands.
    ///   - chance: from 0 to 1.
    static func delay(after attempts: Int, asked: Duration?, chance: Double) -> Duration {
        let full = min(shortest << min(max(attempts, 0), 16), longest)
        let delay = Duration.milliseconds(full / 2 + Int(Double(full / 2) * chance))
        return min(asked ?? .zero, longestAsked) + delay
    }
}
