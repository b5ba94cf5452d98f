import MessageBus
import Reactor
import Synchronization

/// Passes on the announcements of each service at a bounded rate: the first one at once, and of those that
/// arrive within `pause` after it the latest, when the pause is over.
///
/// A service that floods the bus with announcements must not keep the gateway busy. A gateway that reads the
/// bus too slowly is disconnected from it, and all requests fail until it is back.
package final class AnnouncementThrottle: Sendable {
    package static let pause: Duration = .milliseconds(100)
    /// The number of services that are remembered. If there are more, their next announcements pass at once.
    private static let maxSubjects = 1_024

    private struct State {
        var passedAt: [String: LoopInstant] = [:]
        /// The latest message of each subject in its pause. A task passes it on.
        var waiting: [String: BusMessage] = [:]
    }

    private let state = Mutex(State())
    private let pause: Duration
    private let receiver: @Sendable (BusMessage) -> Void

    /// - Parameter receiver: called on the thread of `receive`, or on a thread of the shared pool.
    init(pause: Duration = pause, _ receiver: @escaping @Sendable (BusMessage) -> Void) {
        self.pause = pause
        self.receiver = receiver
    }

    func receive(_ message: BusMessage) {
        let now = LoopInstant.now()
        let subject = message.subject
        let wait = state.withLock { state -> Duration? in
            if state.waiting[subject] != nil {
                state.waiting[subject] = message
                return nil
            }
            let wait = state.passedAt[subject].map { $0 + pause - now } ?? .zero
            if wait > .zero {
                state.waiting[subject] = message
            } else {
                Self.note(subject, at: now, in: &state)
            }
            return wait
        }
        guard let wait else { return }
        guard wait > .zero else { return receiver(message) }
        Task { [weak self] in
            do { try await Task.sleep(for: wait) } catch { return }
            self?.passOn(subject)
        }
    }

    private func passOn(_ subject: String) {
        let message = state.withLock { state -> BusMessage? in
            Self.note(subject, at: .now(), in: &state)
            return state.waiting.removeValue(forKey: subject)
        }
        if let message { receiver(message) }
    }

    private static func note(_ subject: String, at now: LoopInstant, in state: inout State) {
        if state.passedAt.count >= maxSubjects { state.passedAt = [:] }
        state.passedAt[subject] = now
    }
}
