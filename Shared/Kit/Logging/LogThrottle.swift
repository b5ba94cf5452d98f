/// Decides which warnings about others are logged, so that a peer that repeats a fault does not fill the log. For each
/// peer, a reason is logged at most once a minute, and at most 16 reasons are.
public struct LogThrottle: Sendable {
    private static let repeatPause: Duration = .seconds(60)
    private static let maxPeers = 1_024
    private static let maxReasons = 16

    /// The time at which each reason of a peer was logged.
    private var logged: [String: [String: ContinuousClock.Instant]] = [:]

    public init() {}

    /// Notes a warning about a peer.
    ///
    /// - Returns: true if the warning is to be logged now.
    public mutating func note(_ reason: String, of peer: String, at now: ContinuousClock.Instant = .now) -> Bool {
        if logged[peer] == nil, logged.count >= Self.maxPeers { logged = [:] }
        var reasons = logged[peer, default: [:]].filter { now - $0.value < Self.repeatPause }
        let isLogged = reasons[reason] == nil && reasons.count < Self.maxReasons
        if isLogged { reasons[reason] = now }
        logged[peer] = reasons
        return isLogged
    }
}
