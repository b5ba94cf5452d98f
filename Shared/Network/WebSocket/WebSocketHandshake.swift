import ParlorSecurity

/// The server's part of the opening handshake (RFC 6455, section 4.2). It reads the request's fields through
/// a closure, so that it does not depend on an HTTP module.
public enum WebSocketHandshake {
    /// Checks a request and returns the response that opens the connection. No extension is accepted. Of the subprotocols
    /// it accepts the first: they mean nothing here, but a browser fails a connection that accepts none of those it offers.
    ///
    /// - Parameters:
    ///   - isHTTP11: false for HTTP/1.0, which has no upgrade.
    ///   - header: returns all values of the fields with a name, in order and as they were sent.
    ///   - additionalHeaders: other fields of the response. Control characters in values become spaces.
    /// - Returns: the bytes of the 101.
    public static func accept(
        method: String, isHTTP11: Bool = true, additionalHeaders: [(name: String, value: String)] = [],
        header: (String) -> [String]
    ) throws(WebSocketRefusal) -> [UInt8] {
        guard method == "GET", isHTTP11 else {
            throw WebSocketRefusal(status: 400, reason: "a handshake is a GET of HTTP/1.1")
        }
        guard list(header("Upgrade"), contains: "websocket"), list(header("Connection"), contains: "upgrade") else {
            throw .upgradeRequired("no upgrade to websocket was asked for")
        }
        // Section 4.4: the response names the version to use.
        guard header("Sec-WebSocket-Version") == ["13"] else { throw .upgradeRequired("the version has to be 13") }
        let keys = header("Sec-WebSocket-Key")
        guard keys.count == 1, Base64.decode(keys[0])?.count == 16 else {
            throw WebSocketRefusal(status: 400, reason: "Sec-WebSocket-Key has to be 16 bytes in base64, once")
        }
        return head(
            "HTTP/1.1 101 Switching Protocols",
            [
                ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                ("Sec-WebSocket-Accept", acceptValue(forKey: keys[0])),
            ] + firstSubprotocol(header("Sec-WebSocket-Protocol")) + additionalHeaders)
    }

    /// - Parameter offered: the values of the fields, each a list of tokens (section 4.1, step 10).
    private static func firstSubprotocol(_ offered: [String]) -> [(name: String, value: String)] {
        let first = members(of: offered.prefix(1)).first { $0.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
        return first.map { [("Sec-WebSocket-Protocol", String(Substring($0)))] } ?? []
    }

    /// Returns the value that proves that the server has understood the handshake (section 4.2.2, step 5.4).
    static func acceptValue(forKey key: String) -> String {
        Base64.encode(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }

    /// Returns true if a field's list names this token, in any case and over all its lines.
    static func list(_ values: [String], contains token: String) -> Bool {
        // Compare bytes, as Unicode has letters that become ASCII ones in lower case.
        members(of: values[...]).contains { $0.map(lowercased) == Array(token.utf8) }
    }

    /// Returns the members of a field's list that are one word, over all its lines.
    private static func members(of values: ArraySlice<String>) -> [Substring.UTF8View] {
        values.flatMap { value in
            value.utf8.split(separator: UInt8(ascii: ",")).compactMap { member in
                let words = member.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
                return words.count == 1 ? words[0] : nil
            }
        }
    }

    private static func lowercased(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }

    /// Encodes a start line and fields, replacing control characters so that no value ends its line.
    static func head(_ startLine: String, _ fields: [(name: String, value: String)]) -> [UInt8] {
        var head = Array("\(startLine)\r\n".utf8)
        for field in fields {
            for byte in "\(field.name): \(field.value)".utf8 {
                head.append(byte < 0x20 || byte == 0x7F ? UInt8(ascii: " ") : byte)
            }
            head.append(contentsOf: "\r\n".utf8)
        }
        head.append(contentsOf: "\r\n".utf8)
        return head
    }
}

/// The reason why a request does not become a WebSocket, as an HTTP response. The connection may continue
/// after it.
public struct WebSocketRefusal: Error {
    /// The response's status: 400 or 426.
    public let status: Int
    /// The fields of the response.
    public let headers: [(name: String, value: String)]
    /// A description for a developer. It contains no byte of the request.
    public let reason: String

    init(status: Int, headers: [(name: String, value: String)] = [], reason: String) {
        self.status = status
        self.headers = headers
        self.reason = reason
    }

    /// Returns a 426 with the required protocol (RFC 9110, section 15.5.22) and version (RFC 6455, section
    /// 4.4).
    static func upgradeRequired(_ reason: String) -> WebSocketRefusal {
        WebSocketRefusal(
            status: 426, headers: [("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")], reason: reason)
    }
}
