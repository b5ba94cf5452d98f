/// The reason why the bus did not deliver. A responder's own error is in its reply, not here.
public enum BusError: Error, Equatable, Sendable {
    /// Nobody serves the subject now.
    case noResponders
    /// No reply in time. The request may have been carried out.
    case deadlineExceeded
    /// This side or the responder lost its connection, or the bus is closed or draining. A request under way may have
    /// been carried out.
    case disconnected
    /// The line, or the reply's, is over the limit.
    case lineTooLong
    /// No subject, or no pattern, by the grammar of `SubjectGrammar`.
    case badSubject
    /// The other side does not take what it is sent as fast as it comes, and the bound is reached. A request was not sent; or
    /// it was carried out, and its reply was not.
    case slowConsumer
    /// The bus does not want it, in its own words.
    case refused(String)
}

extension BusError: CustomStringConvertible {
    /// One word, as it stands on the wire and in logs.
    public var code: String {
        switch self {
        case .noResponders: "no_responders"
        case .deadlineExceeded: "deadline_exceeded"
        case .disconnected: "disconnected"
        case .lineTooLong: "line_too_long"
        case .badSubject: "bad_subject"
        case .slowConsumer: "slow_consumer"
        case .refused: "refused"
        }
    }

    /// From a code on the wire. One that is not known here is a refusal in the sender's words.
    package init(code: String, message: String) {
        switch code {
        case "no_responders": self = .noResponders
        case "deadline_exceeded": self = .deadlineExceeded
        case "disconnected", "draining": self = .disconnected
        case "line_too_long": self = .lineTooLong
        case "bad_subject": self = .badSubject
        case "slow_consumer": self = .slowConsumer
        default: self = .refused(message.isEmpty ? code : message)
        }
    }

    public var description: String {
        if case .refused(let reason) = self { "refused: \(reason)" } else { code }
    }
}
