/// The keys whose signatures are believed.
public struct JSONWebKeySet: Sendable {
    let keys: [JSONWebKey]

    public init(_ keys: [JSONWebKey]) { self.keys = keys }

    /// The key for a token's header. The algorithm is the key's, and a header that names another finds no key: so
    /// nobody can have a public key taken for a secret one, or no signature for a good one (RFC 8725, section 3.1).
    func key(algorithm: String, id: String?) -> JSONWebKey? {
        keys.first { $0.algorithm.rawValue == algorithm && ($0.id == nil || id == nil || $0.id == id) }
    }
}
