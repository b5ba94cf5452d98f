/// The pauses before retries: random up to a bound that doubles (full jitter), so that many clients
/// that lose a server at once do not return at once.
struct Backoff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    private var bound: Duration

    /// - Parameters:
    ///   - shortest: the first bound.
    ///   - failures: the number of earlier failures.
    init(from shortest: Duration = .milliseconds(500), upTo longest: Duration = .seconds(30), after failures: Int = 0) {
        self.shortest = shortest
        self.longest = longest
        // Sixteen doublings exceed any bound.
        bound = min(shortest * (1 << min(failures, 16)), longest)
    }

    /// Returns the next pause.
    ///
    /// - Parameters:
    ///   - random: a number from 0 up to 1.
    ///   - least: the pause that the server asked for.
    mutating func next(random: Double, atLeast least: Duration? = nil) -> Duration {
        let delay = bound * random
        bound = min(bound * 2, longest)
        return max(delay, least ?? .zero)
    }

    mutating func reset() { bound = shortest }
}
