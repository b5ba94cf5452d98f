/// What the parser has found.
public enum HTTPEvent: Sendable, Equatable {
    /// A whole request. If it is answered with 101, `takeRemaining` gives what belongs to the new protocol.
    case request(HTTPRequest)
    /// The body is, or has become, larger than `HTTPLimits.maxUnaskedBodyBytes`. The request is given without it. Nothing follows until
    /// `takeBody` or `dropBody` says what to do with it.
    case largeBody(HTTPRequest)
    /// The client waits for `100 Continue` before it sends its body. Comes before the request's other events.
    case continueExpected
    /// The body is over the limit: to be answered with 413. The request is given without it; the rest of the body is
    /// dropped as it comes.
    case bodyTooLarge(HTTPRequest)
    /// The body that was too large has passed, and the connection can go on.
    case drained

    /// The request that it is the end of, or of whose body it tells.
    public var request: HTTPRequest? {
        switch self {
        case .request(let request), .largeBody(let request), .bodyTooLarge(let request): request
        case .continueExpected, .drained: nil
        }
    }
}
