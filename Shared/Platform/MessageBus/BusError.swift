/// The reason why the bus did not deliver. A responder's own error is in its reply, not here.
public enum BusError: Error, Equatable, Sendable {
    /// The subject has no responder now.
    case noResponders
    /// The reply did not arrive in time. The request may have been performed.
    case deadlineExceeded
    /// This side or the responder lost its connection, or the bus is closed or draining. A request in
    /// progress may have been performed.
    case disconnected
    /// The line, or the reply's line, is over the limit.
    case lineTooLong
    /// The text is not a subject, or not a pattern, by the grammar of `SubjectGrammar`.
    case badSubject
    /// The other side does not take data as fast as it is sent, and the limit is reached. Either the request
    /// was not sent, or it was performed and its reply was not sent.
    case slowConsumer
    /// The bus refused this peer or its message, with this reason.
    case refused(String)
}

extension BusError {
    /// The responder has sent something else than JSON.
    package static let malformedReply = BusError.refused("the reply is no JSON")
}

extension BusError: CustomStringConvertible {
    /// The error in one word, for the wire and logs.
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

    /// Creates an error from a code on the wire. An unknown code becomes a refusal with the sender's message.
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
