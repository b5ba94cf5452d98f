import CCrypto

/// Whether two byte strings are the same, in a time that depends on their lengths alone: for all that is secret.
public func constantTimeEquals(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    left.count == right.count && CRYPTO_memcmp(left, right, left.count) == 0
}
