import CCrypto

/// Bytes nobody can foresee, from libcrypto's generator, which the kernel seeds.
public struct SystemRandomness: Randomness {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            // It fails only where the kernel has no randomness to give. No secret may be made there.
            precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "the system gives no random bytes")
            filled = count
        }
    }
}
