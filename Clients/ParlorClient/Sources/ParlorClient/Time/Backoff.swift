/// The pauses before retries: each is random up to a bound that doubles (full jitter). So clients that lose a server
/// at the same moment do not all return at the same moment.
struct Backoff: Sendable {
    private let shortest: Duration
    private let longest: Duration
    private var bound: Duration

    /// Starts with the first bound, or a later one.
    ///
    /// - Parameters:
    ///   - shortest: the first bound.
    ///   - longest: the bound that is never exceeded.
    ///   - failures: the number of earlier failures, each of which has doubled the bound.
    init(from shortest: Duration = .milliseconds(500), upTo longest: Duration = .seconds(30), after failures: Int = 0) {
        self.shortest = shortest
        self.longest = longest
        // After sixteen doublings any `longest` in use is exceeded.
        bound = min(shortest * (1 << min(failures, 16)), longest)
    }

    /// Returns the next pause.
    ///
    /// - Parameters:
    ///   - random: a number from 0 up to 1.
    ///   - least: the pause that the server asked for, which may exceed the bound.
    mutating func next(random: Double, atLeast least: Duration? = nil) -> Duration {
        let delay = bound * random
        bound = min(bound * 2, longest)
        return max(delay, least ?? .zero)
    }

    /// Starts again with the first bound, after a success.
    mutating func reset() { bound = shortest }
}
