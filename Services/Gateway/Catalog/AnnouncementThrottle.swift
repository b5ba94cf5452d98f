import ParlorMessageBus
import Synchronization

/// Passes on the announcements of each service at a bounded rate. The first one passes at once. Of those that
/// arrive within `pause` after it, only the latest passes, when the pause is over. Those of one service pass one
/// at a time, in order.
///
/// A service that floods the bus with announcements must not keep the gateway busy. A gateway that reads the
/// bus too slowly is disconnected from it, and all requests fail until it is connected again.
package final class AnnouncementThrottle: Sendable {
    package static let pause: Duration = .milliseconds(100)
    /// The limit of services that are in a pause at the same time. Beyond it, announcements of other services pass
    /// at once, without a pause.
    private static let maxSubjects = 1_024

    /// The services in their pause, by subject, each with its latest announcement since the last one that passed.
    private let waiting = Mutex<[String: BusMessage?]>([:])
    private let pause: Duration
    private let receiver: @Sendable (BusMessage) -> Void

    /// - Parameters:
    ///   - pause: zero passes on everything at once.
    ///   - receiver: called on the thread of `receive`, or on a thread of the shared pool.
    init(pause: Duration = pause, _ receiver: @escaping @Sendable (BusMessage) -> Void) {
        self.pause = pause
        self.receiver = receiver
    }

    /// Receives an announcement. Those of one service must come in order.
    func receive(_ message: BusMessage) {
        let subject = message.subject
        let (isInPause, pauses) = waiting.withLock { waiting -> (Bool, Bool) in
            if waiting.keys.contains(subject) {
                waiting[subject] = .some(message)
                return (true, true)
            }
            guard pause > .zero, waiting.count < Self.maxSubjects else { return (false, false) }
            waiting.updateValue(nil, forKey: subject)
            return (false, true)
        }
        if isInPause { return }
        receiver(message)
        guard pauses else { return }
        Task { [weak self, pause] in
            repeat {
                do { try await Task.sleep(for: pause) } catch { return }
            } while self?.passOn(subject) ?? false
        }
    }

    /// - Returns: false if nothing has arrived in the pause, which then ends.
    private func passOn(_ subject: String) -> Bool {
        let message = waiting.withLock { waiting -> BusMessage? in
            guard let message = waiting[subject] ?? nil else {
                waiting.removeValue(forKey: subject)
                return nil
            }
            waiting.updateValue(nil, forKey: subject)
            return message
        }
        guard let message else { return false }
        receiver(message)
        return true
    }
}
