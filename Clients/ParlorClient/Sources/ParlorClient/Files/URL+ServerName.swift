import Foundation

extension URL {
    /// A file name for a server with this address. No other server has the same name, so tokens are never sent to
    /// another server. Spellings of one address (upper case, the standard port, a slash at the end) have the same name.
    package var serverFileName: String {
        let scheme = scheme?.lowercased() ?? ""
        let standardPort = scheme == "https" ? 443 : 80
        let host = host(percentEncoded: true)?.lowercased() ?? ""
        var path = path()
        while path.hasSuffix("/") { path.removeLast() }
        return "\(scheme)://\(host):\(port ?? standardPort)\(path)".fileName(plain: ".")
    }
}
