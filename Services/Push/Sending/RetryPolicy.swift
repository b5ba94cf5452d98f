import Contracts

/// When a push is tried again that a provider did not take.
enum RetryPolicy {
    private static let shortest = 1000
    private static let longest = 300_000
    /// What a server may ask for: one that asks for more is asked again all the same.
    private static let longestAsked: Duration = .seconds(3600)

    /// What the server asks for, and then twice as long each time, half of it by chance: those that failed together do not come
    /// back together.
    ///
    /// - Parameters:
    ///   - attempts: those before the one that failed.
    ///   - asked: how long the server asks to be left alone.
    ///   - chance: from 0 to 1.
    static func delay(after attempts: Int, asked: Duration?, chance: Double) -> Duration {
        let full = min(shortest << min(max(attempts, 0), 16), longest)
        let delay = Duration.milliseconds(full / 2 + Int(Double(full / 2) * chance))
        return min(asked ?? .zero, longestAsked) + delay
    }
}
