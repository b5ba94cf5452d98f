import ParlorSecurity
import Synchronization

/// Reproducible bytes from a seed (SplitMix64), so that a test's ids and tokens are known. Never
/// for a secret.
public final class SeededRandomness: Randomness {
    private let generator: Mutex<SeededGenerator>

    public init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    public func bytes(_ count: Int) -> [UInt8] {
        generator.withLock { generator in
            (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next() >> 56) }
        }
    }
}

/// SplitMix64: reproducible numbers from a seed, so that a failing case can be run again.
public struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
