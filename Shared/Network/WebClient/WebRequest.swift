/// A POST to a server, which is the only method of this client.
public struct WebRequest: Sendable {
    /// The URL: `https://HOST/PATH`, or `http://…` for a server without TLS.
    public var url: String
    /// The headers. Names and values must not contain control characters.
    public var headers: [(name: String, value: String)]
    public var body: [UInt8]
    /// The time limit from the start of the transfer to the end of the response. The wait before the start
    /// has the same limit.
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
    /// The body, up to `WebClient.maxBody` bytes.
    public let body: [UInt8]
    /// The headers by lower-case name. If a name occurs several times, the last value counts.
    public let headers: [String: String]
    /// The HTTP version; 2 for HTTP/2.
    public let httpVersion: Int
    /// The time for which the server asks not to send the next request (Retry-After, in seconds or as a
    /// date), or nil if it gave none.
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

/// The reason why there is no response. The server may have performed the request, except after `busy`, when nothing
/// was sent.
public enum WebFailure: Error, Sendable, Equatable {
    /// The response did not arrive in time.
    case timeout
    /// The connection could not be made, or broke.
    case connection(String)
    /// The server's certificate is not trusted.
    case notTrusted(String)
    /// Too many requests wait, or this one waited too long.
    case busy
    /// The client is closed.
    case closed
}
