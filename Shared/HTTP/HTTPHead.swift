/// The head of a request while its lines arrive: each line is checked when it is complete, so nonsense is refused
/// before its end has come.
struct HTTPHead {
    private(set) var request: HTTPRequest?

    /// The request line, then the fields.
    mutating func take(line: ArraySlice<UInt8>, limits: HTTPLimits) throws(HTTPParseError) {
        if request == nil {
            request = try Self.requestLine(line)
        } else {
            let field = try HTTPFieldLine(parsing: line)
            guard let count = request?.headers.count, count < limits.maxHeaders else {
                throw HTTPParseError(431, "too many header fields")
            }
            request?.headers.add(name: field.name, value: field.value)
        }
    }

    /// `method SP target SP version` (RFC 9112, section 3), with single spaces.
    private static func requestLine(_ line: ArraySlice<UInt8>) throws(HTTPParseError) -> HTTPRequest {
        let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw HTTPParseError(400, "no request line of method, target and version") }
        guard !parts[0].isEmpty, parts[0].allSatisfy(\.isTokenByte) else {
            throw HTTPParseError(400, "the method is no token")
        }
        let version = try version(parts[2])
        let method = parts[0].text
        let target = try HTTPTarget(parsing: parts[1], method: method)
        return HTTPRequest(
            method: method, target: parts[1].text, path: target.path, query: target.query, version: version)
    }

    private static func version(_ text: ArraySlice<UInt8>) throws(HTTPParseError) -> HTTPRequest.Version {
        let digits = Array(text.suffix(3))
        guard text.count == 8, text.starts(with: "HTTP/".utf8),
            digits[0].isDigit, digits[1] == UInt8(ascii: "."), digits[2].isDigit
        else { throw HTTPParseError(400, "the version is malformed") }
        // The preface of HTTP/2 (RFC 9113, section 3.4) is a request line of version 2.0, and ends here too.
        guard digits[0] == UInt8(ascii: "1") else { throw HTTPParseError(505, "only HTTP/1 is spoken here") }
        return digits[2] == UInt8(ascii: "0") ? .http10 : .http11
    }

    /// Checks what the fields say together, and how the body is framed.
    static func framing(of request: HTTPRequest) throws(HTTPParseError) -> HTTPBodyReader? {
        try checkHost(request)
        let lengths = request.headers.all("Content-Length")
        if request.headers.contains("Transfer-Encoding") {
            // RFC 9112, section 6.1: both together are how requests are smuggled.
            guard lengths.isEmpty else { throw HTTPParseError(400, "Content-Length beside Transfer-Encoding") }
            try checkTransferCoding(request)
            return .chunked
        }
        guard let text = lengths.first else { return nil }
        guard lengths.count == 1 else { throw HTTPParseError(400, "Content-Length is given twice") }
        let length = try contentLength(text)
        return length == 0 ? nil : .length(length)
    }

    /// RFC 9112, section 3.2: exactly one, and a valid one; HTTP/1.0 may have none.
    private static func checkHost(_ request: HTTPRequest) throws(HTTPParseError) {
        let hosts = request.headers.all("Host")
        if hosts.isEmpty, request.version == .http10 { return }
        guard hosts.count == 1 else { throw HTTPParseError(400, "Host is missing or given twice") }
        guard HTTPTarget.isAuthority(Array(hosts[0].utf8)[...]) else { throw HTTPParseError(400, "Host is malformed") }
    }

    /// RFC 9112, sections 6.1 and 6.3: `chunked` has to be there, once and last; of other codings none is known.
    private static func checkTransferCoding(_ request: HTTPRequest) throws(HTTPParseError) {
        guard request.version == .http11 else { throw HTTPParseError(400, "Transfer-Encoding in HTTP/1.0") }
        let codings = request.headers.members("Transfer-Encoding").map { $0.lowercased() }
        guard codings.last == "chunked", codings.count(where: { $0 == "chunked" }) == 1 else {
            throw HTTPParseError(400, "the last transfer coding is not chunked")
        }
        guard codings.count == 1 else { throw HTTPParseError(501, "no transfer coding but chunked is known") }
    }

    /// RFC 9110, section 8.6: digits and nothing else. What does not fit is as long as can be, and refused for that.
    private static func contentLength(_ text: String) throws(HTTPParseError) -> Int {
        guard !text.isEmpty, text.utf8.allSatisfy(\.isDigit) else {
            throw HTTPParseError(400, "Content-Length is no number")
        }
        return Int(text) ?? .max
    }

    /// RFC 9110, section 10.1.1: whether the client waits for 100 before it sends its body.
    static func expectsContinue(_ request: HTTPRequest) throws(HTTPParseError) -> Bool {
        guard request.version == .http11, request.headers.contains("Expect") else { return false }
        guard request.headers.members("Expect").allSatisfy({ $0.lowercased() == "100-continue" }) else {
            throw HTTPParseError(417, "nothing but 100-continue can be expected")
        }
        return true
    }
}
