import ParlorJSON

/// A signed set of claims (RFC 7519, RFC 7515 in its compact form).
public enum JSONWebToken {
    /// The length limit of a token. Longer ones are refused before anything is decoded: ours have 300 bytes,
    /// other issuers' a few thousand.
    public static let maxLength = 16 * 1024
    /// The length limit of a token's encoded header. It is parsed before the signature is checked, and names little more
    /// than an algorithm and a key.
    private static let maxHeaderLength = 1024

    /// Signs a token that `verify` accepts.
    ///
    /// - Parameter claims: an object. Include `exp`, in seconds since 1970: `verify` refuses a token without
    ///   it.
    public static func sign(_ claims: JSONValue, with key: JSONWebKey) -> String {
        sign(claims, algorithm: key.algorithm.rawValue, keyID: key.id, key.sign)
    }

    /// Signs a token that another party verifies; nothing here accepts it.
    public static func sign(_ claims: JSONValue, with key: ES256Key, id: String) -> String {
        sign(claims, algorithm: "ES256", keyID: id, key.sign)
    }

    private static func sign(
        _ claims: JSONValue, algorithm: String, keyID: String?, _ sign: ([UInt8]) -> [UInt8]
    ) -> String {
        let header = JSONWriter.object {
            $0.member("alg", algorithm)
            $0.member("typ", "JWT")
            if let keyID { $0.member("kid", keyID) }
        }
        let message = "\(Base64URL.encode(Array(header.bytes))).\(Base64URL.encode(Array(claims.bytes)))"
        return "\(message).\(Base64URL.encode(sign(Array(message.utf8))))"
    }

    /// Returns the claims of a token that one of the keys signed, and that is valid at the given time.
    ///
    /// - Parameter now: seconds since 1970, UTC. There is no leeway: a token that expires now has expired.
    public static func verify(
        _ token: String, keys: JSONWebKeySet, at now: Int
    ) throws(JSONWebTokenError) -> JSONObject {
        let bytes = Array(token.utf8)
        guard bytes.count <= maxLength else { throw .malformed }
        // Split only as far as needed to see that there are too many parts: a token that consists of dots
        // would have thousands.
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= maxHeaderLength, let signature = Base64URL.decode(parts[2]) else {
            throw .malformed
        }
        let header = try object(parts[0])
        // A critical extension must be understood, and none is supported (RFC 7515, section 4.1.11).
        guard let algorithm = header["alg"]?.string, header["crit"] == nil else { throw .malformed }
        guard let key = keys.key(algorithm: algorithm, id: header["kid"]?.string) else { throw .unknownKey }
        let message = Array(bytes[..<parts[1].endIndex])
        guard key.verify(signature, of: message) else { throw .badSignature }
        let claims = try object(parts[1])
        guard let expiry = claims["exp"]?.double else { throw .malformed }
        guard Double(now) < expiry else { throw .expired }
        if let start = claims["nbf"] {
            guard let start = start.double else { throw .malformed }
            guard start <= Double(now) else { throw .notYetValid }
        }
        return claims
    }

    private static func object(_ part: ArraySlice<UInt8>) throws(JSONWebTokenError) -> JSONObject {
        guard let bytes = Base64URL.decode(part) else { throw .malformed }
        do {
            guard let object = try JSONValue(parsing: bytes).object else { throw JSONWebTokenError.malformed }
            return object
        } catch {
            throw .malformed
        }
    }
}

/// The reason why a token is refused. It is for a log; the sender learns only that the token is invalid.
public enum JSONWebTokenError: Error, Equatable {
    case malformed
    /// The token names an algorithm, such as `none`, or a key that is not in the set.
    case unknownKey
    case badSignature
    case expired
    case notYetValid
}
