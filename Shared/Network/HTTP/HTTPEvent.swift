/// An event from the parser.
public enum HTTPEvent: Sendable, Equatable {
    /// A whole request. If it is answered with 101, `takeRemaining` returns the bytes that belong to the new
    /// protocol.
    case request(HTTPRequest)
    /// The body is, or has become, larger than `HTTPLimits.maxUnaskedBodyBytes`. The request comes without
    /// it. No event follows until `takeBody` or `dropBody` is called.
    case largeBody(HTTPRequest)
    /// The client waits for `100 Continue` before it sends its body. Comes before `request`, and after
    /// `takeBody` if `largeBody` came first.
    case continueExpected
    /// The body is over the limit, so the request must be answered with 413. The request comes without the body, and
    /// the rest of the body is dropped as it arrives.
    case bodyTooLarge(HTTPRequest)
    /// The end of a body that was dropped: it was too large, or refused by `dropBody`. The connection can
    /// continue.
    case drained

    /// The request that comes with this event; nil for an event without one.
    public var request: HTTPRequest? {
        switch self {
        case .request(let request), .largeBody(let request), .bodyTooLarge(let request): request
        case .continueExpected, .drained: nil
        }
    }
}

/// The reason for refusing a request. The parser then does not know where the next request starts, so the connection
/// has to be closed once the answer is written.
public struct HTTPParseError: Error, Equatable, CustomStringConvertible {
    /// The response's status: 400, 413, 414, 417, 431, 501 or 505.
    public let status: Int
    /// A description for a developer. It contains no byte of the request.
    public let reason: String

    init(_ status: Int, _ reason: String) {
        self.status = status
        self.reason = reason
    }

    public var description: String { "\(status): \(reason)" }
}

/// The limits of a client's requests.
public struct HTTPLimits: Sendable {
    /// The limit of the request line; a longer one gets 414. RFC 9112, section 3, asks for at least 8,000
    /// bytes; a query may carry a signed token of some kilobytes.
    public var maxRequestLineBytes = 8 * 1024
    /// The limit of request line and fields together, or of the trailer; more gets 431. It leaves room for a
    /// browser's cookies and two tokens.
    public var maxHeadBytes = 32 * 1024
    /// The limit of fields in a head; more get 431. Browsers send about twenty, a chain of proxies adds ten.
    public var maxHeaders = 100
    /// The limit of a body; a larger one gives `bodyTooLarge`, 413. It is the contract's limit for every
    /// route.
    public var maxBodyBytes = 1024 * 1024
    /// The length above which `largeBody` asks, before the body is stored, whether to accept it. This keeps
    /// bodies from clients without a login small.
    public var maxUnaskedBodyBytes = 16 * 1024
    /// The number of bytes of an oversized body that are read and dropped, including the lines of chunks. A client that
    /// writes the whole body before it reads then still sees the 413. If there are more bytes, the connection is
    /// closed, and such a client sees a reset.
    public var maxDrainBytes = 16 * 1024 * 1024
    /// The limit of a chunk's size line with its extensions; more gets 400. A size has at most 15 digits, and
    /// extensions are unused in practice.
    public var maxChunkLineBytes = 256
    /// The limit of all extensions in a body; more gets 400. Without it a body of tiny chunks could carry a
    /// flood of them.
    public var maxChunkExtensionBytes = 16 * 1024

    public init() {}
}
