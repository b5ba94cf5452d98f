import ParlorJSON
import ParlorSecurity

/// The peers that may join a bus. Each has its own token, which identifies it.
///
/// Each line of the file is the JSON of a `BusPeer` with one more member, `token`. It has the digest of the
/// peer's token: `sha256:` and 64 hexadecimal digits. Empty lines and those that begin with `#` are skipped.
public struct BusPeerTable: Sendable {
    /// The limit of the file's size. A peer's line has some 300 bytes.
    public static let maxSize = 1 << 20

    private let peers: [[UInt8]: BusPeer]

    /// Reads a table of peers.
    ///
    /// - Throws: `ConfigurationError` that names the line.
    public init(_ text: [UInt8], from path: String) throws(ConfigurationError) {
        var peers: [[UInt8]: BusPeer] = [:]
        try BusPeer.readLines(of: text, from: path) { object throws(BusPeerError) in
            // A name may occur twice: a new token is added before the old one is removed.
            let known = peers.updateValue(try BusPeer(object), forKey: try Self.digest(in: object))
            guard known == nil else { throw BusPeerError("repeats the token of an earlier line") }
        }
        guard !peers.isEmpty else { throw .malformed("\(path) lists no peer") }
        self.peers = peers
    }

    private static func digest(in object: JSONObject) throws(BusPeerError) -> [UInt8] {
        let prefix = "sha256:"
        guard let token = object["token"]?.string, token.hasPrefix(prefix),
            let digest = bytes(hexadecimal: token.dropFirst(prefix.count)), digest.count == 32
        else { throw BusPeerError("has no `token` that is sha256: and 64 hexadecimal digits") }
        return digest
    }

    private static func bytes(hexadecimal text: Substring) -> [UInt8]? {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2), !digits.contains(nil) else { return nil }
        return stride(from: 0, to: digits.count, by: 2).compactMap { offset in
            digits[offset].flatMap { high in digits[offset + 1].map { low in UInt8(high << 4 | low) } }
        }
    }

    /// Returns the peer with this token; nil if there is none. The time it takes reveals nothing about the
    /// tokens, as peers are found by digest.
    public func peer(with token: String) -> BusPeer? { peers[SHA256.hash(token.utf8)] }

    /// Returns the text of the member `token`.
    static func digest(of token: [UInt8]) -> String { "sha256:\(SHA256.hash(token).hexadecimal)" }
}
