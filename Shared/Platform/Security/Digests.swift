import CCrypto

/// SHA-256 (RFC 6234).
public enum SHA256 {
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        contiguous(bytes) { input in
            [UInt8](unsafeUninitializedCapacity: Int(SHA256_DIGEST_LENGTH)) { digest, count in
                _ = CCrypto.SHA256(input.baseAddress, input.count, digest.baseAddress)
                count = Int(SHA256_DIGEST_LENGTH)
            }
        }
    }
}

/// Calls the body with the bytes side by side in memory, copied only if they do not lie so already.
func contiguous<Result>(
    _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<UInt8>) -> Result
) -> Result {
    bytes.withContiguousStorageIfAvailable(body) ?? Array(bytes).withUnsafeBufferPointer(body)
}

/// SHA-1 (RFC 3174). For the WebSocket handshake, which demands it; it protects nothing there, and must not elsewhere.
public enum SHA1 {
    public static func hash(_ bytes: some Collection<UInt8>) -> [UInt8] {
        contiguous(bytes) { input in
            [UInt8](unsafeUninitializedCapacity: Int(SHA_DIGEST_LENGTH)) { digest, count in
                _ = CCrypto.SHA1(input.baseAddress, input.count, digest.baseAddress)
                count = Int(SHA_DIGEST_LENGTH)
            }
        }
    }
}

/// HMAC with SHA-256 (RFC 2104): shows that whoever wrote a message holds the key. Compare with `constantTimeEquals`.
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

/// Whether two byte strings are the same, in a time that depends on their lengths alone: for all that is secret.
public func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}

extension Collection<UInt8> {
    /// Two lower-case digits for each byte.
    public var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

public enum Libcrypto {
    /// Leaves the library as it is when the process ends. Before anything else of this module, once for a program that has threads.
    ///
    /// By default libcrypto frees what it holds in `exit`, beside threads that are ending and free their own part of it, or still use it
    /// (OPENSSL_init_crypto(3), "OPENSSL_INIT_NO_ATEXIT").
    public static func outlivesExit() {
        // It fails only where there is no memory, and then with the first real call, too.
        OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil)
    }
}
