import CParlorCrypto

/// A key and the algorithm that it is for.
public struct JSONWebKey: Sendable {
    public enum Algorithm: String, Sendable {
        case hs256 = "HS256"
    }

    public let algorithm: Algorithm
    /// The `kid` of the tokens that it signs, or nil if it is the only key.
    public let id: String?
    private let secret: [UInt8]

    /// Creates a key for HMAC with SHA-256; the secret must have at least 32 bytes (RFC 7518, section 3.2).
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

/// The keys whose signatures are accepted.
public struct JSONWebKeySet: Sendable {
    let keys: [JSONWebKey]

    public init(_ keys: [JSONWebKey]) { self.keys = keys }

    /// Returns the key for a token's header. The key determines the algorithm: a header that names another one
    /// finds no key. So a public key cannot be passed off as a secret one, and a token without a signature is not
    /// accepted (RFC 8725, section 3.1).
    func key(algorithm: String, id: String?) -> JSONWebKey? {
        keys.first { $0.algorithm.rawValue == algorithm && ($0.id == nil || id == nil || $0.id == id) }
    }
}

/// A private key on the curve P-256, which signs with ECDSA and SHA-256 (RFC 7518, section 3.4).
public struct ES256Key: Sendable {
    /// The key's text. It is parsed for each signature, as libcrypto's key is not a Swift value and signing
    /// is rare.
    private let pem: [UInt8]

    /// Reads a key.
    ///
    /// - Parameter pem: the key in PKCS #8 without a password, as in Apple's `.p8` files.
    /// - Throws: `ES256KeyError` if it contains no such key.
    public init(pem: [UInt8]) throws(ES256KeyError) {
        self.pem = pem
        guard let key = Self.parse(pem) else { throw ES256KeyError() }
        defer { EVP_PKEY_free(key) }
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1,
            String(decoding: name[..<length].map(UInt8.init), as: UTF8.self) == "prime256v1"
        else { throw ES256KeyError() }
    }

    /// Returns the signature: R and S, 32 bytes each.
    func sign(_ message: [UInt8]) -> [UInt8] {
        guard let key = Self.parse(pem), let context = EVP_MD_CTX_new() else { preconditionFailure("libcrypto fails") }
        defer {
            EVP_MD_CTX_free(context)
            EVP_PKEY_free(key)
        }
        var length = 0
        var encoded = [UInt8](repeating: 0, count: Int(EVP_PKEY_get_size(key)))
        length = encoded.count
        precondition(
            EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestSign(context, &encoded, &length, message, message.count) == 1,
            "libcrypto cannot sign with a key on P-256")
        return Self.raw(encoded[..<length])
    }

    /// Converts libcrypto's ASN.1 signature to that of a JSON Web Signature, which has the two numbers one
    /// after the other.
    private static func raw(_ encoded: ArraySlice<UInt8>) -> [UInt8] {
        encoded.withUnsafeBufferPointer { bytes in
            var cursor = bytes.baseAddress
            guard let signature = d2i_ECDSA_SIG(nil, &cursor, bytes.count) else {
                preconditionFailure("libcrypto cannot read its own signature")
            }
            defer { ECDSA_SIG_free(signature) }
            return [UInt8](unsafeUninitializedCapacity: 2 * numberLength) { buffer, count in
                BN_bn2binpad(ECDSA_SIG_get0_r(signature), buffer.baseAddress, Int32(numberLength))
                BN_bn2binpad(
                    ECDSA_SIG_get0_s(signature), buffer.baseAddress.map { $0 + numberLength }, Int32(numberLength))
                count = 2 * numberLength
            }
        }
    }

    private static let numberLength = 32

    private static func parse(_ pem: [UInt8]) -> OpaquePointer? {
        pem.withUnsafeBytes { bytes in
            guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
            defer { BIO_free(source) }
            // Without the callback, libcrypto would ask for a key's password on the terminal.
            return PEM_read_bio_PrivateKey(source, nil, { _, _, _, _ in -1 }, nil)
        }
    }
}

/// The error when a text contains no private key on P-256.
public struct ES256KeyError: Error, Equatable, CustomStringConvertible {
    public var description: String { "it is no private key on the curve P-256 in PEM, without a password" }
}
