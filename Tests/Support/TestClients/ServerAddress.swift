/// Where the server listens.
package struct ServerAddress: Sendable {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// nil for anything but `http://HOST:PORT`, with a slash at most behind it.
    package init?(url: String) {
        guard url.hasPrefix("http://") else { return nil }
        let authority = url.dropFirst("http://".count).prefix { $0 != "/" }
        guard url.utf8.count <= "http://".count + authority.utf8.count + 1,
            let colon = authority.lastIndex(of: ":"), colon > authority.startIndex,
            let port = UInt16(authority[authority.index(after: colon)...])
        else { return nil }
        self.init(host: String(authority[..<colon]), port: port)
    }

    /// What a request says in `Host`.
    package var name: String { "\(host):\(port)" }
}
