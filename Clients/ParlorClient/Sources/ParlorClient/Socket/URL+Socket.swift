import Foundation

extension URL {
    /// The address of this server's socket.
    var socketAddress: URL {
        guard var parts = URLComponents(url: self, resolvingAgainstBaseURL: true) else { return self }
        parts.scheme = parts.scheme == "https" || parts.scheme == "wss" ? "wss" : "ws"
        while parts.percentEncodedPath.hasSuffix("/") { parts.percentEncodedPath.removeLast() }
        parts.percentEncodedPath += "/socket.io/"
        parts.percentEncodedQuery = "EIO=4&transport=websocket"
        return parts.url ?? self
    }
}
