/// The target of a request line (RFC 9112, section 3.2).
struct HTTPTarget {
    let path: String
    let query: String?

    init(parsing bytes: Span<UInt8>, method: String) throws(HTTPParseError) {
        guard !bytes.isEmpty, bytes.allSatisfy({ $0.isTargetByte }) else {
            throw HTTPParseError(400, "the target is empty or has a character that has to be escaped")
        }
        if method == "CONNECT" { throw HTTPParseError(501, "CONNECT is for proxies") }
        if method == "OPTIONS", bytes.count == 1, bytes[0] == UInt8(ascii: "*") {
            (path, query) = ("*", nil)
            return
        }
        let start = bytes[0] == UInt8(ascii: "/") ? 0 : try Self.endOfAuthority(bytes)
        let mark = bytes.firstIndex(of: UInt8(ascii: "?"), from: start)
        path = mark ?? bytes.count > start ? bytes.text(start..<(mark ?? bytes.count)) : "/"
        query = mark.map { bytes.text($0 + 1..<bytes.count) }
    }

    /// Returns the start of the path in `http://host/path`. Section 3.2.2 requires servers to accept this
    /// form, although only proxies get it.
    private static func endOfAuthority(_ bytes: Span<UInt8>) throws(HTTPParseError) -> Int {
        for scheme in ["http://", "https://"] {
            let start = scheme.utf8.count
            guard bytes.count > start, bytes.equals(scheme, ignoringCaseIn: 0..<start) else { continue }
            var end = start
            while end < bytes.count, bytes[end] != UInt8(ascii: "/"), bytes[end] != UInt8(ascii: "?") { end += 1 }
            guard end > start, isAuthority(bytes.extracting(start..<end)) else { break }
            return end
        }
        throw HTTPParseError(400, "the target is neither a path nor a URL of http")
    }

    static func isAuthority(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        return isAuthority(bytes.span)
    }

    /// Returns true if the bytes are `host` or `host:port`, without a user (RFC 3986, section 3.2). An empty host is
    /// allowed in `Host`.
    private static func isAuthority(_ bytes: Span<UInt8>) -> Bool {
        var end = 0
        if !bytes.isEmpty, bytes[0] == UInt8(ascii: "[") {
            guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")), bracket > 1,
                bytes.allSatisfy(in: 1..<bracket, { $0.hexDigit != nil || $0 == 0x3A || $0 == 0x2E })
            else { return false }
            end = bracket + 1
        } else {
            while end < bytes.count, isHostByte(bytes[end]) { end += 1 }
        }
        return end == bytes.count
            || bytes[end] == UInt8(ascii: ":") && bytes.allSatisfy(in: end + 1..<bytes.count) { $0.isDigit }
    }

    /// Returns true for `unreserved`, `sub-delims` and the `%` of an escape.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~%!$&'()*+,;=".utf8.contains(byte)
    }
}
