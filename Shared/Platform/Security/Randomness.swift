/// Where random bytes come from: the system, or a seed in a test.
public protocol Randomness: Sendable {
    func bytes(_ count: Int) -> [UInt8]
}
