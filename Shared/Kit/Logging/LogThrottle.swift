/// Decides which warnings about others are logged, so that a peer that repeats a fault does not fill the log.
public struct LogThrottle: Sendable {
    /// The pause before a reason is logged again.
    private static let repeatPause: Duration = .seconds(60)
    /// The pause before another reason of the same peer is logged.
    private static let pause: Duration = .seconds(1)
    private static let maxPeers = 1_024

    private var notes: [String: (reason: String, notedAt: ContinuousClock.Instant)] = [:]

    public init() {}

    /// - Returns: true if the warning is to be logged now.
    public mutating func note(_ reason: String, of peer: String, at now: ContinuousClock.Instant = .now) -> Bool {
        if let last = notes[peer] {
            guard now - last.notedAt >= (last.reason == reason ? Self.repeatPause : Self.pause) else { return false }
        } else if notes.count >= Self.maxPeers {
            notes = [:]
        }
        notes[peer] = (reason, now)
        return true
    }
}
