import ParlorContracts
import ParlorLogging
import ParlorMessageBus
import Synchronization

/// Logs services whose replies are late, too long for the bus, or neither a reply nor an error, whose errors have a code
/// that is not allowed, whose fields are too large or wrong, or whose log has malformed entries. Each reason, with its detail, is
/// logged at most once a minute per service (`LogThrottle`); malformed entries are one reason, wherever they are.
public final class ReplyFaults: Sendable {
    public enum Reason: String, Sendable {
        case late = "no reply in time"
        case tooLong = "a reply is too long for the bus"
        case malformed = "a reply is malformed"
        case unknownCode = "an error's code is not of the contract, and is not allowed as one of its own"
        case noFields = "the fields of objects are refused with an error"
        case largeValue = "a field of an object is too large"
        case wrongValue = "a field of an object has a wrong value"
        case malformedEntry = "an entry of its log is malformed"
    }

    /// A missed deadline is the service's fault only if the service had at least this much time. If it had less,
    /// earlier steps of the request used up the rest.
    private static let leastTimeout: Duration = .milliseconds(500)

    private let log: Logger
    private let throttle = Mutex(LogThrottle())

    public init(log: Logger) { self.log = log }

    /// Notes an error of the bus, unless it is not the service's fault.
    ///
    /// - Parameter subject: what was asked; its first segment is the service's name.
    public func note(_ error: BusError, on subject: String, _ context: BusContext) {
        switch error {
        case .deadlineExceeded where context.timeout >= Self.leastTimeout: note(.late, on: subject, context)
        case .lineTooLong: note(.tooLong, on: subject, context)
        case .malformedReply: note(.malformed, "it is no JSON, or is nested too deeply", on: subject, context)
        default: break
        }
    }

    /// Notes that a service's reply could not be read. An error that the service itself sent is not noted, unless its
    /// code is not allowed.
    public func note(_ error: ServiceError, reading payload: any BusPayload, on subject: String, _ context: BusContext)
    {
        guard !(payload is ServiceError) else { return }
        if let sent = payload.json.object?["error"]?.object {
            guard error.code == .internal, let code = sent.refusedCode else { return }
            note(.unknownCode, code, on: subject, context)
        } else if error == .noReply {
            note(.malformed, Reply.mistake(in: payload.json), on: subject, context)
        }
    }

    /// - Parameter detail: what the reason is about.
    public func note(_ reason: Reason, _ detail: String = "", on subject: String, _ context: BusContext) {
        let service = String(subject.prefix { $0 != "." })
        // Malformed entries have a new detail, their position, with each page.
        let key = reason == .malformedEntry ? reason.rawValue : "\(reason.rawValue) \(detail)"
        guard throttle.withLock({ $0.note(key, of: service) }) else { return }
        log.warning(
            "a service does not reply as it should",
            [
                "name": service, "reason": reason.rawValue, "detail": detail, "subject": subject,
                "request": context.requestID,
            ])
    }
}
