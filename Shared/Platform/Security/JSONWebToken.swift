import JSON

/// A signed set of claims (RFC 7519, RFC 7515 in its compact form).
public enum JSONWebToken {
    /// Longer ones are refused before anything is decoded: ours have 300 bytes, other issuers' a few thousand.
    public static let maxLength = 16 * 1024

    /// - Parameter claims: an object. Put `exp` in it, in seconds since 1970: `verify` refuses a token without.
    public static func sign(_ claims: JSONValue, with key: JSONWebKey) -> String {
        sign(claims, algorithm: key.algorithm.rawValue, keyID: key.id, key.sign)
    }

    /// A token for somebody else to believe: nothing here does.
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

    /// The claims of a token that one of the keys signed, and that is valid at the given time.
    ///
    /// - Parameter now: seconds since 1970, UTC. There is no leeway: what expires now has expired.
    public static func verify(
        _ token: String, keys: JSONWebKeySet, at now: Int
    ) throws(JSONWebTokenError) -> JSONObject {
        let bytes = Array(token.utf8)
        guard bytes.count <= maxLength else { throw .malformed }
        // No more of them than tell that there are too many: a token of dots alone would be thousands.
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, let signature = Base64URL.decode(parts[2]) else { throw .malformed }
        let header = try object(parts[0])
        // An extension that must be understood, and is not (RFC 7515, section 4.1.11).
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

/// Why a token is not believed. For a log; whoever sent it learns only that it is not.
public enum JSONWebTokenError: Error, Equatable {
    case malformed
    /// It names an algorithm or a key that is not in the set: `none`, for one.
    case unknownKey
    case badSignature
    case expired
    case notYetValid
}
