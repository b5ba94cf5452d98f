/// A request that has arrived whole, or whose body is left out (`HTTPEvent.largeBody`, `HTTPEvent.bodyTooLarge`).
public struct HTTPRequest: Sendable, Equatable {
    public enum Version: Sendable {
        /// HTTP/1.0, with one request for each connection unless the client asks for more.
        case http10
        /// HTTP/1.1, and any later 1.x. By RFC 9110, section 2.5, a server reads a later 1.x as the highest version
        /// that it supports.
        case http11
    }

    /// The method as it was sent: methods are case-sensitive.
    public var method: String
    /// The target as it was sent.
    public var target: String
    /// The path as it was sent, still percent-encoded, without the query; `*` for `OPTIONS *`.
    public var path: String
    /// The part after the first `?`, still percent-encoded; nil without a `?`.
    public var query: String?
    public var version: Version
    public var headers: HTTPHeaders
    /// The body without its framing. Trailer fields of a chunked body are checked and dropped.
    public var body: [UInt8]

    public init(
        method: String, target: String, path: String, query: String? = nil, version: Version = .http11,
        headers: HTTPHeaders = [:], body: [UInt8] = []
    ) {
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.version = version
        self.headers = headers
        self.body = body
    }

    /// True if the client wants to continue to use the connection (RFC 9112, section 9.3).
    public var keepAlive: Bool {
        if headers.list("Connection", contains: "close") { return false }
        return version == .http11 || headers.list("Connection", contains: "keep-alive")
    }

    /// The limit of path segments. No route has as many; a path that consists of slashes would have
    /// thousands.
    static let maxPathSegments = 64

    /// The path's parts, decoded: `/api/rooms/caf%C3%A9` is `api`, `rooms`, `café`, and `/` alone has none.
    ///
    /// The path is split before decoding, so `%2F` is part of a segment. Nothing is normalised: `//` and a
    /// `/` at the end make an empty segment, and dots are segments like any other.
    ///
    /// - Returns: nil for the path `*`, and if the request is malformed (400): an escape is broken, a segment is not
    ///   UTF-8 or has too many combining marks in a row, or there are more than `maxPathSegments`.
    public var pathSegments: [String]? {
        guard path.utf8.first == UInt8(ascii: "/") else { return nil }
        if path == "/" { return [] }
        var segments: [String] = []
        // Split an array: clients choose the path's length, and string indices cost ten times as much.
        let parts = Array(path.utf8.dropFirst())
            .split(separator: UInt8(ascii: "/"), maxSplits: Self.maxPathSegments, omittingEmptySubsequences: false)
        guard parts.count <= Self.maxPathSegments else { return nil }
        for part in parts {
            guard let segment = PercentEncoding.decode(part) else { return nil }
            segments.append(segment)
        }
        return segments
    }

    /// The decoded query; empty without one, nil if it is malformed (400; see `HTTPQuery.init(parsing:)`).
    public var queryItems: HTTPQuery? { HTTPQuery(parsing: query ?? "") }
}
