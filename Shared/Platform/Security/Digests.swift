import CParlorCrypto

/// SHA-256 (RFC 6234).
public enum SHA256 {
    /// Fetched once: libcrypto's own function for a whole text looks the algorithm up at each call, which takes longer than to
    /// hash a kilobyte.
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)

    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        contiguous(bytes) { input in
            [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
                let written = EVP_Digest(input.baseAddress, input.count, digest.baseAddress, nil, algorithm, nil)
                precondition(written == 1, "libcrypto has no SHA-256")
                count = Int(SHA256_DIGEST_LENGTH)
            }
        }
    }
}

/// Calls the body with the bytes in contiguous memory, copied only if they are not contiguous already.
func contiguous<Result>(
    _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}

/// SHA-1 (RFC 3174). The WebSocket handshake requires it, where it protects nothing. Do not use it elsewhere.
public enum SHA1 {
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        contiguous(bytes) { input in
            [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { digest, count in
                _ = CParlorCrypto.SHA1(input.baseAddress, input.count, digest.baseAddress)
                count = Int(SHA_DIGEST_LENGTH)
            }
        }
    }
}

/// HMAC with SHA-256 (RFC 2104), which proves that a message's author holds the key. Compare with
/// `constantTimeEquals`.
public enum HMACSHA256 {
    public static func authenticate(_ message: some Collection<UInt8>, key: [UInt8]) -> [UInt8] {
        contiguous(message) { input in
            [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { code, count in
                var length: UInt32 = 0
                let written = HMAC(
                    EVP_sha256(), key, Int32(key.count), input.baseAddress, input.count, code.baseAddress, &length)
                precondition(written != nil, "libcrypto has no HMAC-SHA-256")
                count = Int(length)
            }
        }
    }
}

/// Compares two byte strings in a time that depends on their lengths only. Use it for all secrets.
public func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

extension Collection<UInt8> {
    /// The bytes as two lower-case hexadecimal digits each.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

public enum Libcrypto {
    /// Keeps the library initialised when the process ends. To be called before anything else of this module,
    /// once in a program that has threads.
    ///
    /// By default libcrypto frees its memory in `exit`, while threads may be ending and freeing their own
    /// part of it, or still using it (OPENSSL_init_crypto(3), "OPENSSL_INIT_NO_ATEXIT").
    public static func outlivesExit() {
        // It fails only without memory, and then the first real call fails too.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
