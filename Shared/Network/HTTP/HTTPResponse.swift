/// An answer, and how it is written (RFC 9112, section 4).
public struct HTTPResponse: Sendable, Equatable {
    public var status: Int
    /// `Content-Length`, `Transfer-Encoding` and `Date` in here are not written, nor is `Connection` but with a 101:
    /// the encoder knows better.
    public var headers: HTTPHeaders
    public var body: [UInt8]

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// What `continueExpected` is answered with; the final answer follows later.
    public static let continueBytes = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// The bytes to send, in order: one array, or two where the body is large, for which memory to copy it into would
    /// cost more than the sending.
    ///
    /// - Parameters:
    ///   - keepAlive: whether the connection stays open; said in either case, as HTTP/1.0 needs it and 1.1 allows it.
    ///   - headOnly: for an answer to HEAD: the length is that of the body, which is not sent.
    ///   - date: `HTTPDate.string`, which whoever writes many answers makes once a second.
    public func encode(keepAlive: Bool, headOnly: Bool = false, date: String) -> [[UInt8]] {
        let sendsBody = Self.mayHaveBody(status) && !headOnly
        let isLarge = body.count >= Self.largeBody
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.usualHeadBytes + (sendsBody && !isLarge ? body.count : 0))
        bytes.append(contentsOf: "HTTP/1.1 \(status) \(Self.reasonPhrase(status))\r\n".utf8)
        if status == 101 {
            headers.write(to: &bytes, leavingOut: Self.reserved)
        } else {
            headers.write(to: &bytes, leavingOut: Self.reservedButForUpgrades)
            bytes.append(contentsOf: (keepAlive ? "Connection: keep-alive\r\n" : "Connection: close\r\n").utf8)
        }
        if Self.mayHaveBody(status) { bytes.append(contentsOf: "Content-Length: \(body.count)\r\n".utf8) }
        bytes.append(contentsOf: "Date: \(date)\r\n\r\n".utf8)
        guard sendsBody else { return [bytes] }
        if isLarge { return [bytes, body] }
        bytes.append(contentsOf: body)
        return [bytes]
    }

    private static let reserved = ["Content-Length", "Transfer-Encoding", "Date"]
    private static let reservedButForUpgrades = reserved + ["Connection"]

    /// Enough for the answers of an API, so that the bytes are allocated once.
    private static let usualHeadBytes = 384

    /// A smaller body is cheaper to copy than to write as a piece of its own.
    private static let largeBody = 16 * 1024

    /// RFC 9110, sections 15.2, 15.3.5 and 15.4.5.
    private static func mayHaveBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    /// For people; clients go by the number. Empty for a status that is not in use here.
    static func reasonPhrase(_ status: Int) -> String {
        switch status {
        case 100: "Continue"
        case 101: "Switching Protocols"
        case 200: "OK"
        case 201: "Created"
        case 202: "Accepted"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 406: "Not Acceptable"
        case 408: "Request Timeout"
        case 409: "Conflict"
        case 410: "Gone"
        case 411: "Length Required"
        case 412: "Precondition Failed"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        case 504: "Gateway Timeout"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
