import ParlorJSON

/// One request, as the bytes to send.
package struct HTTPCall {
    /// The request line, without the head's `Host`, which the connection knows.
    private let requestLine: String
    private let fields: String
    private let body: ArraySlice<UInt8>

    /// - Parameter tag: the entity tag of the known state, for a conditional request.
    package init(
        _ method: String, _ path: String, token: String? = nil, unlessStill tag: String? = nil, body: JSONValue? = nil
    ) {
        requestLine = "\(method) \(path) HTTP/1.1\r\n"
        self.body = body?.bytes ?? []
        var fields = ""
        if let token { fields += "Authorization: Bearer \(token)\r\n" }
        if let tag { fields += "If-None-Match: \(tag)\r\n" }
        if body != nil { fields += "Content-Type: application/json\r\nContent-Length: \(self.body.count)\r\n" }
        self.fields = fields
    }

    func bytes(for server: ServerAddress) -> [UInt8] {
        Array("\(requestLine)Host: \(server.name)\r\n\(fields)\r\n".utf8) + body
    }
}
