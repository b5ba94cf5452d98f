/// A key and the one algorithm it is for.
public struct JSONWebKey: Sendable {
    public enum Algorithm: String, Sendable {
        case hs256 = "HS256"
    }

    public let algorithm: Algorithm
    /// The `kid` of the tokens that it signs; nil if it is the only one.
    public let id: String?
    private let secret: [UInt8]

    /// HMAC with SHA-256; the secret has to have 32 bytes or more (RFC 7518, section 3.2).
    public static func hs256(secret: [UInt8], id: String? = nil) -> JSONWebKey {
        precondition(secret.count >= SecretFile.minLength, "HS256 needs a secret of \(SecretFile.minLength) bytes")
        return JSONWebKey(algorithm: .hs256, id: id, secret: secret)
    }

    func sign(_ message: [UInt8]) -> [UInt8] {
        switch algorithm {
        case .hs256: HMACSHA256.authenticate(message, key: secret)
        }
    }

    func verify(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        switch algorithm {
        case .hs256: constantTimeEquals(signature, HMACSHA256.authenticate(message, key: secret))
        }
    }
}
