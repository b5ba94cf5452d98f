import CCrypto

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
