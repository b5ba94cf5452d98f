import CParlorCrypto
import Synchronization

/// A source of random bytes: the system, or a seed in a test.
public protocol Randomness: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}

/// Unpredictable bytes from libcrypto's generator, which the kernel seeds.
public struct SystemRandomness: Randomness {
    public init() {}

    public func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            // It fails only if the kernel has no randomness, and then no secret may be made.
            precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "the system gives no random bytes")
            filled = count
        }
    }
}

/// Generates ids that sort, as text, in the order they were made by this generator (RFC 9562, sections 5.7
/// and 6.2).
///
/// A millisecond's first id starts a 12-bit counter in the lower half of its range; the next ids increment
/// it. If the counter overflows, or the clock goes back, ids continue from the last millisecond used, so the
/// order holds.
public final class UUIDv7Generator: Sendable {
    private struct Last {
        var millisecond: UInt64 = 0
        var counter: UInt16 = 0
        /// Random bytes for the next ids.
        var random: ArraySlice<UInt8> = []
    }

    private let randomness: any Randomness
    private let last = Mutex(Last())

    private static let maxCounter: UInt16 = 0xFFF
    /// The limit of a counter's first value. It leaves room for at least 2,048 ids in a millisecond before
    /// the generator has to run ahead of the clock.
    private static let maxFirstCounter: UInt16 = 0x7FF
    private static let maxMillisecond: UInt64 = 0xFFFF_FFFF_FFFF
    /// The random bytes of an id, and the number of ids for which they are requested together: a request to
    /// the system costs more than the bytes.
    private static let (randomBytes, idsAtATime) = (10, 16)

    public init(randomness: any Randomness = SystemRandomness()) { self.randomness = randomness }

    /// Returns the next id.
    ///
    /// - Parameter now: milliseconds since 1970, UTC.
    /// - Returns: 36 characters, lower case.
    public func next(at now: Int) -> String {
        let now = UInt64(clamping: now) & Self.maxMillisecond
        let random = takeRandom()
        let position = last.withLock { last in
            if now > last.millisecond {
                last.millisecond = now
                last.counter = random.counter & Self.maxFirstCounter
            } else if last.counter < Self.maxCounter {
                last.counter += 1
            } else {
                last.millisecond += 1
                last.counter = 0
            }
            return (millisecond: last.millisecond, counter: last.counter)
        }
        return uuidText(position.millisecond << 16 | 0x7000 | UInt64(position.counter), random.tail)
    }

    private func takeRandom() -> (tail: UInt64, counter: UInt16) {
        func take(from bytes: inout ArraySlice<UInt8>) -> (tail: UInt64, counter: UInt16)? {
            guard bytes.count >= Self.randomBytes else { return nil }
            let tail = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
            let counter = bytes.prefix(Self.randomBytes).suffix(2).reduce(0) { $0 << 8 | UInt16($1) }
            bytes.removeFirst(Self.randomBytes)
            return (tail, counter)
        }
        if let spare = last.withLock({ take(from: &$0.random) }) { return spare }
        var fresh = randomness.bytes(Self.randomBytes * Self.idsAtATime)[...]
        guard let first = take(from: &fresh) else { preconditionFailure("too few random bytes") }
        last.withLock { $0.random = fresh }
        return first
    }
}

/// Ids that follow from a name: the same name has the same id (RFC 9562, section 5.8).
public enum UUIDv8 {
    /// - Returns: 36 characters, lower case, from the name's SHA-256.
    public static func of(_ name: String) -> String {
        let hash = SHA256.hash(name.utf8)
        let high = hash.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return uuidText(high & ~0xF000 | 0x8000, hash[8..<16].reduce(0) { $0 << 8 | UInt64($1) })
    }
}

private let hexDigits = Array("0123456789abcdef".utf8)

/// Writes an id of the variant of RFC 9562, which replaces the first two bits of `low`.
private func uuidText(_ high: UInt64, _ low: UInt64) -> String {
    let low = low & (.max >> 2) | 1 << 63
    return String(unsafeUninitializedCapacity: 36) { text in
        var length = 0
        for at in 0..<32 {
            if at == 8 || at == 12 || at == 16 || at == 20 {
                text[length] = UInt8(ascii: "-")
                length += 1
            }
            let digit = (at < 16 ? high : low) >> UInt64(60 - 4 * (at % 16)) & 15
            text[length] = hexDigits[Int(digit)]
            length += 1
        }
        return length
    }
}
