import Logging
import MessageBus
import Synchronization

/// Logs which services answer too late, too long, or with what is no answer: each reason once a minute for a
/// service (`LogThrottle`).
public final class AnswerFaults: Sendable {
    public enum Reason: String, Sendable {
        case late = "no answer in time"
        case tooLong = "an answer is too long for the bus"
        case malformed = "an answer is malformed"

        /// - Returns: nil for errors that are not the service's fault, or no fault at all.
        public init?(_ error: BusError) {
            switch error {
            case .deadlineExceeded: self = .late
            case .lineTooLong: self = .tooLong
            default: return nil
            }
        }
    }

    private let log: Logger
    private let throttle = Mutex(LogThrottle())

    public init(log: Logger) { self.log = log }

    /// - Parameter subject: what was asked; its first segment is the service's name.
    public func note(_ reason: Reason, on subject: String, request: String) {
        let service = String(subject.prefix { $0 != "." })
        guard throttle.withLock({ $0.note(reason.rawValue, of: service) }) else { return }
        log.warning(
            "a service does not answer as it should",
            ["name": service, "reason": reason.rawValue, "subject": subject, "request": request])
    }
}
