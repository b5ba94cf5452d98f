/// The address of a server.
package struct ServerAddress: Sendable {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `http://HOST:PORT`, with an optional slash at the end; nil for anything else.
    package init?(url: String) {
        guard url.hasPrefix("http://") else { return nil }
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" }
        guard url.utf8.count <= "http://".count + authority.utf8.count + 1,
            let colon = authority.lastIndex(of: ":"), colon > authority.startIndex,
            let port = UInt16(authority[authority.index(after: colon)...])
        else { return nil }
        self.init(host: String(authority[..<colon]), port: port)
    }

    /// The value of `Host` in a request.
    package var name: String { "\(host):\(port)" }
}
