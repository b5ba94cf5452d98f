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
