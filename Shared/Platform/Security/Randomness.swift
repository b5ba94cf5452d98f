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
                last.counter = (UInt16(random[8]) << 8 | UInt16(random[9])) & Self.maxFirstCounter
            } else if last.counter < Self.maxCounter {
                last.counter += 1
            } else {
                last.millisecond += 1
                last.counter = 0
            }
            return (millisecond: last.millisecond, counter: last.counter)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16)
        for shift in stride(from: 40 as UInt64, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: position.millisecond >> shift))
        }
        bytes.append(0x70 | UInt8(position.counter >> 8))
        bytes.append(UInt8(truncatingIfNeeded: position.counter))
        bytes.append(0x80 | random[0] & 0x3F)
        bytes.append(contentsOf: random[1..<8])
        return uuidText(bytes)
    }

    private func takeRandom() -> [UInt8] {
        let spare = last.withLock { last in
            defer { last.random = last.random.dropFirst(Self.randomBytes) }
            return Array(last.random.prefix(Self.randomBytes))
        }
        if !spare.isEmpty { return spare }
        let fresh = randomness.bytes(Self.randomBytes * Self.idsAtATime)
        last.withLock { $0.random = fresh.dropFirst(Self.randomBytes) }
        return Array(fresh.prefix(Self.randomBytes))
    }
}

/// Ids that follow from a name: the same name has the same id (RFC 9562, section 5.8).
public enum UUIDv8 {
    /// - Returns: 36 characters, lower case, from the name's SHA-256.
    public static func of(_ name: String) -> String {
        var bytes = Array(SHA256.hash(name.utf8).prefix(16))
        bytes[6] = 0x80 | bytes[6] & 0x0F
        bytes[8] = 0x80 | bytes[8] & 0x3F
        return uuidText(bytes)
    }
}

private let hexDigits = Array("0123456789abcdef".utf8)

private func uuidText(_ bytes: [UInt8]) -> String {
    String(unsafeUninitializedCapacity: 36) { text in
        var length = 0
        for (at, byte) in bytes.enumerated() {
            if at == 4 || at == 6 || at == 8 || at == 10 {
                text[length] = UInt8(ascii: "-")
                length += 1
            }
            text[length] = hexDigits[Int(byte >> 4)]
            text[length + 1] = hexDigits[Int(byte & 15)]
            length += 2
        }
        return length
    }
}
