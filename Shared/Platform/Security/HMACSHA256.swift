import CCrypto

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
