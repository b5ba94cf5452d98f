/// A POST to a server: what this client is for.
public struct WebRequest: Sendable {
    /// `https://HOST/PATH` or, for a server that has no TLS, `http://…`.
    public var url: String
    /// Names and values without control characters.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// From its turn to the end of the answer. For its turn it waits no longer than that, either.
    public var timeout: Duration

    public init(_ url: String, headers: [(name: String, value: String)] = [], body: [UInt8], timeout: Duration) {
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
    }
}

public struct WebResponse: Sendable {
    public let status: Int
    /// Up to `WebClient.maxBody` bytes.
    public let body: [UInt8]
    /// By lower-case name; the last of several.
    public let headers: [String: String]
    /// 2 for HTTP/2.
    public let httpVersion: Int
    /// The time after which the server wants the next request (Retry-After, in seconds or as a
    /// date); nil if it gave none.
    public let retryAfter: Duration?

    public init(
        status: Int, body: [UInt8], headers: [String: String], httpVersion: Int, retryAfter: Duration? = nil
    ) {
        self.status = status
        self.body = body
        self.headers = headers
        self.httpVersion = httpVersion
        self.retryAfter = retryAfter
    }
}

/// The error when no client can be created: the system has no libcurl.
public struct MissingLibrary: Error, CustomStringConvertible {
    public let description: String

    init(_ description: String) { self.description = description }
}

/// The reason why there is no answer. The server may have carried the request out, unless it is
/// `busy`.
public enum WebFailure: Error, Sendable, Equatable {
    /// No answer in time.
    case timeout
    /// No connection, or it broke.
    case connection(String)
    /// The server's certificate is not trusted.
    case notTrusted(String)
    /// More requests wait than may, or for too long.
    case busy
    /// The client is closed.
    case closed
}
