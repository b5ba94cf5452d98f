/// How long to wait before the next attempt to connect: any time up to a bound that doubles (full jitter), so that a million
/// clients that lose a server at once do not come back at once.
struct Backoff {
    static let shortest: Duration = .milliseconds(500)
    static let longest: Duration = .seconds(30)

    private var bound = Self.shortest

    /// - Parameters:
    ///   - random: from 0 up to 1.
    ///   - least: what the server has asked to wait.
    mutating func next(random: Double, atLeast least: Duration?) -> Duration {
        let delay = bound * random
        bound = min(bound * 2, Self.longest)
        return max(delay, least ?? .zero)
    }

    mutating func reset() { bound = Self.shortest }
}
