/// How long to wait before the next try: any time up to a bound that doubles (full jitter), so that a million clients that lose a
/// server at once do not come back at once.
struct Backoff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    private var bound: Duration

    /// - Parameters:
    ///   - shortest: the first bound.
    ///   - failures: how many there were before.
    init(from shortest: Duration = .milliseconds(500), upTo longest: Duration = .seconds(30), after failures: Int = 0) {
        self.shortest = shortest
        self.longest = longest
        // Sixteen doublings are over any bound.
        bound = min(shortest * (1 << min(failures, 16)), longest)
    }

    /// - Parameters:
    ///   - random: from 0 up to 1.
    ///   - least: what the server has asked to wait.
    mutating func next(random: Double, atLeast least: Duration? = nil) -> Duration {
        let delay = bound * random
        bound = min(bound * 2, longest)
        return max(delay, least ?? .zero)
    }

    mutating func reset() { bound = shortest }
}
