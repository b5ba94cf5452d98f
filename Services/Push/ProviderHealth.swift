import ServiceKit
import Synchronization

/// Whether the provider takes anything at all: one that does not is tried with one notification at a time, and what is wrong is
/// said once.
final class ProviderHealth: Sendable {
    /// After a mistake of the settings, until the next try.
    static let pause: Duration = .seconds(60)
    /// Attempts without an answer, one after the other, after which it is taken for being away.
    private static let maxUnanswered = 64

    private struct State {
        /// Unknown at first: a wrong key is found out with one notification.
        var isProven = false
        var unanswered = 0
        var pausedUntil: ContinuousClock.Instant?
        var trouble = LastingTrouble()
    }

    private let state = Mutex(State())
    private let log: Logger

    init(log: Logger) { self.log = log }

    /// Why nothing is sent at present; nil if all is well.
    var isPaused: Bool { state.withLock { $0.trouble.isThere } }

    /// How many may be under way at once, of so many; and if none, for how long.
    func allowance(of limit: Int) -> (count: Int, pause: Duration) {
        state.withLock { state in
            if let end = state.pausedUntil, end > .now { return (0, end - .now) }
            return (state.isProven ? limit : 1, .zero)
        }
    }

    func note(_ outcome: PushOutcome) {
        switch outcome {
        case .misconfigured(let reason): fail(reason)
        case .later(_, _, isAnswer: false):
            state.withLock { state in
                state.unanswered += 1
                if state.unanswered >= Self.maxUnanswered { state.isProven = false }
            }
        case .delivered, .gone, .badToken, .refused, .later: succeed()
        }
    }

    private func fail(_ reason: String) {
        let isNew = state.withLock { state in
            state.isProven = false
            state.pausedUntil = .now + Self.pause
            return state.trouble.note(reason)
        }
        guard isNew else { return }
        log.error(
            "the push provider takes nothing: a key, a topic or an address is wrong; it is tried once a minute",
            ["reason": reason])
    }

    private func succeed() {
        let wasTrouble = state.withLock { state in
            // One that was sent before the mistake was found says nothing of what comes after it.
            if let end = state.pausedUntil, end > .now { return false }
            state.isProven = true
            state.unanswered = 0
            state.pausedUntil = nil
            return state.trouble.end()
        }
        if wasTrouble { log.info("the push provider takes notifications again") }
    }
}
