import Reactor
import Synchronization

/// Notices services that repeatedly answer too late, and keeps the gateway from waiting for each of them again and again.
///
/// Such a service is asked once in a while by one caller. All others go on at once, with its last known values.
final class AnswerPauses: Sendable {
    private struct Lateness {
        var count = 0
        /// The time of the last late answer that counted.
        var notedAt: LoopInstant
        var pausedUntil: LoopInstant?
        var pause: Duration = .zero
    }

    /// How many late answers in a row make a service pause. One may be due to a restart.
    static let maxLate = 3
    /// The range of a pause, which doubles with each further late answer.
    private static let pauses: ClosedRange<Duration> = .seconds(1)...(.seconds(4))

    /// The late services, by the subject on which they are asked.
    private let late = Mutex<[String: Lateness]>([:])

    /// Returns true if the service may be asked now. During a pause it may not; after it, one caller may.
    ///
    /// - Parameter hasTime: false if the caller cannot wait long enough to tell whether the service is late. After a
    ///   pause it does not ask.
    func mayAsk(_ subject: String, hasTime: Bool, at now: LoopInstant = .now()) -> Bool {
        late.withLock { late in
            guard var lateness = late[subject], let until = lateness.pausedUntil else { return true }
            guard hasTime, until <= now else { return false }
            // Until this caller has the answer, or the pause is over again, nobody else asks.
            lateness.pausedUntil = now + lateness.pause
            late[subject] = lateness
            return true
        }
    }

    /// Notes the end of a question.
    ///
    /// - Parameter asked: the time of the question. Questions that waited at the same time count as one late answer.
    func note(isLate: Bool, _ subject: String, asked: LoopInstant, at now: LoopInstant = .now()) {
        late.withLock { late in
            guard isLate else {
                late[subject] = nil
                return
            }
            var lateness = late[subject] ?? Lateness(notedAt: asked)
            guard asked >= lateness.notedAt else { return }
            lateness.notedAt = now
            lateness.count += 1
            if lateness.count >= Self.maxLate {
                lateness.pause = min(max(lateness.pause * 2, Self.pauses.lowerBound), Self.pauses.upperBound)
                lateness.pausedUntil = now + lateness.pause
            }
            late[subject] = lateness
        }
    }
}
