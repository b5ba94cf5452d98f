/// A response and its encoding (RFC 9112, section 4).
public struct HTTPResponse: Sendable, Equatable {
    public var status: Int
    /// The fields to send. `Content-Length`, `Transfer-Encoding` and `Date` are ignored, and so is
    /// `Connection` except in a 101: the encoder writes its own.
    public var headers: HTTPHeaders
    public var body: [UInt8]

    public init(status: Int, headers: HTTPHeaders = [:], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// The response to `continueExpected`; the final response follows later.
    public static let continueBytes = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    /// Returns the bytes to send, in order: one array, or two if the body is large, as copying it would cost
    /// more than sending it separately.
    ///
    /// - Parameters:
    ///   - keepAlive: true if the connection stays open. `Connection` is written in either case, as HTTP/1.0 needs it
    ///     and 1.1 allows it.
    ///   - headOnly: true for a response to HEAD: the length is that of the body, which is not sent.
    ///   - date: the result of `HTTPDate.string`; callers with many responses format it once a second.
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

    /// The capacity that is reserved for a head. An API's responses fit, so the bytes are allocated once.
    private static let usualHeadBytes = 384

    /// The size from which a body is not copied. A smaller body is cheaper to copy than to write separately.
    private static let largeBody = 16 * 1024

    /// Returns true unless the status forbids a body (RFC 9110, sections 15.2, 15.3.5 and 15.4.5).
    private static func mayHaveBody(_ status: Int) -> Bool { status >= 200 && status != 204 && status != 304 }

    /// Returns the phrase for people; clients use the number. Empty for a status that this server does not
    /// send.
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

/// Dates as HTTP writes them (`IMF-fixdate`, RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Formats a time.
    ///
    /// - Parameter unixTime: seconds since 1970. A year has four digits, so times before 1970 or after 9999
    ///   are moved to these limits.
    public static func string(unixTime: Int) -> String {
        let seconds = min(max(unixTime, 0), 253_402_300_799)
        let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = civil(daysSince1970: days)
        return "\(weekdays[days % 7]), \(padded(day)) \(months[month - 1]) \(padded(year, 4)) "
            + "\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60)) GMT"
    }

    /// Converts days to a date, as `civil_from_days` in Howard Hinnant's "chrono-Compatible Low-Level Date
    /// Algorithms", for days from 1970 on. Its years begin in March, so that the leap day is the last one.
    private static func civil(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }
}

/// A strong entity tag, which distinguishes one representation of a resource from all others (RFC 9110,
/// section 8.8.3).
public struct EntityTag: Sendable, Equatable {
    private let opaque: String

    /// - Parameter opaque: the text between the quotation marks; visible ASCII without quotation marks.
    public init(_ opaque: String) {
        precondition(opaque.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") }, "no tag: \(opaque)")
        self.opaque = opaque
    }

    public var text: String { "\"\(opaque)\"" }

    /// Returns true if a list of tags contains this one, by the weak comparison: a proxy may have weakened it. Only the
    /// first 1024 bytes of the list are read: a client has one tag or a few, and could send 30,000 bytes of them.
    fileprivate func isListed(in list: String) -> Bool {
        var rest = list.utf8.prefix(1024)
        while true {
            rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: ",") }
            if rest.starts(with: "W/".utf8) { rest = rest.dropFirst(2) }
            // A tag may contain commas. After something that is not a tag, the rest is unreliable.
            guard rest.popFirst() == UInt8(ascii: "\""), let end = rest.firstIndex(of: UInt8(ascii: "\"")) else {
                return false
            }
            if rest[..<end].elementsEqual(opaque.utf8) { return true }
            rest = rest[rest.index(after: end)...]
        }
    }
}

extension HTTPHeaders {
    /// Returns true if `If-None-Match` names the current tag: the condition is false then (RFC 9110,
    /// section 13.1.2). Reads four fields: who sends more gets the whole answer.
    public func ifNoneMatch(names tag: EntityTag) -> Bool {
        all("If-None-Match").prefix(4).contains { $0 == "*" || tag.isListed(in: $0) }
    }
}
