/// How long to wait before each attempt to connect: doubling from 50 ms to a second, each by a random part of its half,
/// so that the clients of a bus that came back do not come back at one instant.
struct Backoff {
    static let first: Duration = .milliseconds(50)
    static let longest: Duration = .seconds(1)

    private var ceiling = first

    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        defer { ceiling = min(ceiling * 2, Self.longest) }
        return ceiling * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() { ceiling = Self.first }
}
