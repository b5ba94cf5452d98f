import ParlorReactor
import Synchronization

/// A circuit breaker for each subject that people wait for: it opens after several late replies in a row.
///
/// While it is open, callers go on at once, as if the service were down. Now and then one caller asks, and a reply in
/// time closes it.
package final class CircuitBreakers: Sendable {
    private struct Breaker {
        var lateCount = 0
        /// The time of the last late reply that counted.
        var notedAt: LoopInstant
        /// The time from which one caller may ask; nil while the breaker is closed.
        var openUntil: LoopInstant?
        var pause: Duration = .zero
    }

    /// The number of late replies in a row that open a breaker. One may be due to a restart.
    package static let maxLate = 3
    /// The range of the pause before one caller asks. It doubles with each later one.
    private static let pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(4))

    /// The breakers by the subject on which the service is asked; none after a reply in time.
    private let breakers = Mutex<[String: Breaker]>([:])

    package init() {}

    /// Returns true if the service may be asked now.
    ///
    /// - Parameter hasTime: false if the caller cannot wait long enough to tell whether the service is late. It does
    ///   not ask while the breaker is open.
    package func allow(_ subject: String, hasTime: Bool, at now: LoopInstant = .now()) -> Bool {
        breakers.withLock { breakers in
            guard var breaker = breakers[subject], let openUntil = breaker.openUntil else { return true }
            guard hasTime, openUntil <= now else { return false }
            // Until this caller has the reply, or the pause is over again, nobody else asks.
            breaker.openUntil = now + breaker.pause
            breakers[subject] = breaker
            return true
        }
    }

    /// Notes the end of a request.
    ///
    /// - Parameter asked: the time of the request. Requests that waited at the same time count as one late reply.
    package func note(isLate: Bool, _ subject: String, asked: LoopInstant, at now: LoopInstant = .now()) {
        breakers.withLock { breakers in
            guard isLate else {
                breakers[subject] = nil
                return
            }
            var breaker = breakers[subject] ?? Breaker(notedAt: asked)
            guard asked >= breaker.notedAt else { return }
            breaker.notedAt = now
            breaker.lateCount += 1
            if breaker.lateCount >= Self.maxLate {
                breaker.pause = min(max(breaker.pause * 2, Self.pauses.lowerBound), Self.pauses.upperBound)
                breaker.openUntil = now + breaker.pause
            }
            breakers[subject] = breaker
        }
    }
}
