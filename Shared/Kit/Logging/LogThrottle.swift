/// Decides which warnings about others are logged, so that a peer that repeats a fault does not fill the log. For each
/// peer, a reason is logged at most once a minute, and at most one line a second is written.
public struct LogThrottle: Sendable {
    private static let repeatPause: Duration = .seconds(60)
    private static let pause: Duration = .seconds(1)
    private static let maxPeers = 1_024
    /// The limit of reasons of a peer. Further ones are not logged until a minute has passed for an earlier one.
    private static let maxReasons = 16

    private struct Notes {
        var last: ContinuousClock.Instant
        var reasons: [String: ContinuousClock.Instant]
    }

    private var notes: [String: Notes] = [:]

    public init() {}

    /// Notes a warning about a peer.
    ///
    /// - Returns: true if the warning is to be logged now.
    public mutating func note(_ reason: String, of peer: String, at now: ContinuousClock.Instant = .now) -> Bool {
        guard var noted = notes[peer] else {
            if notes.count >= Self.maxPeers { notes = [:] }
            notes[peer] = Notes(last: now, reasons: [reason: now])
            return true
        }
        noted.reasons = noted.reasons.filter { now - $0.value < Self.repeatPause }
        let isLogged =
            noted.reasons[reason] == nil && now - noted.last >= Self.pause && noted.reasons.count < Self.maxReasons
        if isLogged {
            noted.last = now
            noted.reasons[reason] = now
        }
        notes[peer] = noted
        return isLogged
    }
}
