/// The head of a request while its lines arrive. Each line is checked when it is complete, so malformed input
/// is refused before the head ends.
struct HTTPHead {
    /// The limit of members of a list that are taken apart. Lists of codings and expectations have one or two.
    private static let maxMembers = 16

    /// The request without its headers, which are collected separately: inside an optional, all of them would
    /// be copied for each new one.
    private var request: HTTPRequest?
    private var headers = HTTPHeaders()
    private(set) var hasRequestLine = false

    /// Parses the request line at first, and a field at each later call.
    mutating func take(line: Span<UInt8>, limits: HTTPLimits) throws(HTTPParseError) {
        if hasRequestLine {
            let field = try HTTPFieldLine(parsing: line)
            guard headers.count < limits.maxHeaders else { throw HTTPParseError(431, "too many header fields") }
            headers.add(field, of: line)
        } else {
            request = try Self.requestLine(line)
            hasRequestLine = true
        }
    }

    /// Returns the request once an empty line has ended its head; nil if nothing came before that line. Resets this
    /// value.
    mutating func finish() -> HTTPRequest? {
        var finished = request.take()
        finished?.headers = headers
        self = HTTPHead()
        return finished
    }

    /// Parses `method SP target SP version` (RFC 9112, section 3), with single spaces. None of the parts may
    /// contain a space.
    private static func requestLine(_ line: Span<UInt8>) throws(HTTPParseError) -> HTTPRequest {
        let space = UInt8(ascii: " ")
        guard let first = line.firstIndex(of: space), let second = line.firstIndex(of: space, from: first + 1) else {
            throw HTTPParseError(400, "the request line is not method, target and version")
        }
        guard first > 0, line.allSatisfy(in: 0..<first, { $0.isTokenByte }) else {
            throw HTTPParseError(400, "the method is not a token")
        }
        let version = try version(line.extracting((second + 1)...))
        let method = line.text(0..<first)
        let target = try HTTPTarget(parsing: line.extracting(first + 1..<second), method: method)
        return HTTPRequest(
            method: method, target: line.text(first + 1..<second), path: target.path, query: target.query,
            version: version)
    }

    private static func version(_ text: Span<UInt8>) throws(HTTPParseError) -> HTTPRequest.Version {
        guard text.count == 8, text.text(0..<5) == "HTTP/", text[5].isDigit, text[6] == UInt8(ascii: "."),
            text[7].isDigit
        else { throw HTTPParseError(400, "the version is malformed") }
        // The preface of HTTP/2 (RFC 9113, section 3.4) is a request line of version 2.0, and ends here too.
        guard text[5] == UInt8(ascii: "1") else { throw HTTPParseError(505, "only HTTP/1 is supported") }
        return text[7] == UInt8(ascii: "0") ? .http10 : .http11
    }

    /// Checks the fields against each other, and returns how the body is framed.
    static func framing(of request: HTTPRequest) throws(HTTPParseError) -> HTTPBodyReader? {
        try checkHost(request)
        let lengths = request.headers.all("Content-Length")
        if request.headers.contains("Transfer-Encoding") {
            // RFC 9112, section 6.1: requests with both are used for smuggling.
            guard lengths.isEmpty else {
                throw HTTPParseError(400, "both Content-Length and Transfer-Encoding are given")
            }
            try checkTransferCoding(request)
            return .chunked
        }
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1 else { throw HTTPParseError(400, "Content-Length is given twice") }
        let length = try contentLength(text)
        return length == 0 ? nil : .length(length)
    }

    /// Checks `Host` as in RFC 9112, section 3.2: there is exactly one, and it is valid; HTTP/1.0 may have
    /// none.
    private static func checkHost(_ request: HTTPRequest) throws(HTTPParseError) {
        let hosts = request.headers.all("Host")
        if hosts.isEmpty, request.version == .http10 { return }
        guard hosts.count == 1 else { throw HTTPParseError(400, "Host is missing or given twice") }
        guard HTTPTarget.isAuthority(hosts[0]) else { throw HTTPParseError(400, "Host is malformed") }
    }

    /// Checks `Transfer-Encoding` as in RFC 9112, sections 6.1 and 6.3: `chunked` must occur once, as the
    /// last coding. No other coding is supported.
    private static func checkTransferCoding(_ request: HTTPRequest) throws(HTTPParseError) {
        guard request.version == .http11 else { throw HTTPParseError(400, "Transfer-Encoding in HTTP/1.0") }
        let codings = request.headers.members("Transfer-Encoding", atMost: maxMembers)
        guard codings.last == "chunked", codings.count(where: { $0 == "chunked" }) == 1 else {
            throw HTTPParseError(400, "the last transfer coding is not chunked")
        }
        guard codings.count == 1 else { throw HTTPParseError(501, "chunked is the only supported transfer coding") }
    }

    /// Parses digits only (RFC 9110, section 8.6). A number that does not fit becomes the largest one, which
    /// is over every limit.
    private static func contentLength(_ text: String) throws(HTTPParseError) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
            throw HTTPParseError(400, "Content-Length is not a number")
        }
        return Int(text) ?? .max
    }

    /// Returns true if the client waits for 100 before it sends its body (RFC 9110, section 10.1.1).
    static func expectsContinue(_ request: HTTPRequest) throws(HTTPParseError) -> Bool {
        guard request.version == .http11, request.headers.contains("Expect") else { return false }
        guard request.headers.members("Expect", atMost: maxMembers).allSatisfy({ $0 == "100-continue" }) else {
            throw HTTPParseError(417, "100-continue is the only supported expectation")
        }
        return true
    }
}
