/// What a request line asks for (RFC 9112, section 3.2).
struct HTTPTarget {
    let path: String
    let query: String?

    init(parsing bytes: ArraySlice<UInt8>, method: String) throws(HTTPParseError) {
        guard !bytes.isEmpty, bytes.allSatisfy(\.isTargetByte) else {
            throw HTTPParseError(400, "the target is empty or has a character that has to be escaped")
        }
        if method == "CONNECT" { throw HTTPParseError(501, "CONNECT is for proxies") }
        if bytes.first == UInt8(ascii: "/") {
            (path, query) = Self.split(bytes)
        } else if bytes.elementsEqual("*".utf8), method == "OPTIONS" {
            (path, query) = ("*", nil)
        } else {
            (path, query) = Self.split(try Self.afterAuthority(bytes))
        }
    }

    private static func split(_ bytes: ArraySlice<UInt8>) -> (path: String, query: String?) {
        guard let mark = bytes.firstIndex(of: UInt8(ascii: "?")) else { return (bytes.text, nil) }
        let path = bytes[..<mark]
        return (path.isEmpty ? "/" : path.text, bytes[(mark + 1)...].text)
    }

    /// `http://host/path`: section 3.2.2 has a server take it, though only proxies are sent it.
    private static func afterAuthority(_ bytes: ArraySlice<UInt8>) throws(HTTPParseError) -> ArraySlice<UInt8> {
        for scheme in ["http://", "https://"] where bytes.prefix(scheme.utf8.count).equalsIgnoringCase(scheme) {
            let rest = bytes.dropFirst(scheme.utf8.count)
            let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
            guard end > rest.startIndex, isAuthority(rest[..<end]) else { break }
            return end == rest.endIndex ? Array("/".utf8)[...] : rest[end...]
        }
        throw HTTPParseError(400, "the target is neither a path nor a URL of http")
    }

    /// `host` or `host:port`, without a user (RFC 3986, section 3.2). An empty host is allowed in `Host`.
    static func isAuthority(_ bytes: ArraySlice<UInt8>) -> Bool {
        var host = bytes
        var port = host[host.endIndex...]
        if bytes.first == UInt8(ascii: "["), let end = bytes.firstIndex(of: UInt8(ascii: "]")) {
            let address = bytes[(bytes.startIndex + 1)..<end]
            guard !address.isEmpty, address.allSatisfy({ $0.hexDigit != nil || $0 == 0x3A || $0 == 0x2E }) else {
                return false
            }
            host = bytes[..<bytes.startIndex]
            port = bytes[(end + 1)...]
        } else if let colon = bytes.firstIndex(of: UInt8(ascii: ":")) {
            host = bytes[..<colon]
            port = bytes[colon...]
        }
        return host.allSatisfy(isHostByte)
            && (port.isEmpty || port.first == UInt8(ascii: ":") && port.dropFirst().allSatisfy(\.isDigit))
    }

    /// `unreserved`, `sub-delims` and the `%` of an escape.
    private static func isHostByte(_ byte: UInt8) -> Bool {
        byte.isLetter || byte.isDigit || "-._~%!$&'()*+,;=".utf8.contains(byte)
    }
}
