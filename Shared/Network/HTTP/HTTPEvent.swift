/// An event from the parser.
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

    /// The request that ends with this event, or to whose body the event belongs.
    public var request: HTTPRequest? {
        switch self {
        case .request(let request), .largeBody(let request), .bodyTooLarge(let request): request
        case .continueExpected, .drained: nil
        }
    }
}

/// The reason for refusing a request. The start of the next one is unknown after it, so the
/// connection has to be closed once the answer is written.
public struct HTTPParseError: Error, Equatable, CustomStringConvertible {
    /// 400, 413, 414, 417, 431, 501 or 505.
    public let status: Int
    /// For a developer to read; never a byte of the request.
    public let reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    public var description: String { "\(status): \(reason)" }
}

/// The limits of a client's requests.
public struct HTTPLimits: Sendable {
    /// Over it: 414. RFC 9112, section 3, asks for 8,000 at least; a query may carry a signed token of some kilobytes.
    public var maxRequestLineBytes = 8 * 1024
    /// Request line and fields together, or the trailer; over it: 431. Room for a browser's cookies and two tokens.
    public var maxHeadBytes = 32 * 1024
    /// Over it: 431. Browsers send about twenty, a chain of proxies adds ten.
    public var maxHeaders = 100
    /// Over it: `bodyTooLarge`, 413. The contract's limit for every route.
    public var maxBodyBytes = 1024 * 1024
    /// The length above which `largeBody` asks whether to accept the body, before it is stored: so
    /// bodies from clients without a login can be kept small.
    public var maxUnaskedBodyBytes = 16 * 1024
    /// The part of a too large body that is read and dropped, so that a client which writes it all
    /// before it reads still sees the 413. The lines of chunks count. Beyond it the connection is
    /// closed, which such a client sees as a reset.
    public var maxDrainBytes = 16 * 1024 * 1024
    /// A chunk's size with its extensions; over it: 400. Sizes need 16 bytes, and nobody uses extensions.
    public var maxChunkLineBytes = 256
    /// All the extensions in a body; over it: 400. Without it a body of tiny chunks could hide a flood of them.
    public var maxChunkExtensionBytes = 16 * 1024

    public init() {}
}
