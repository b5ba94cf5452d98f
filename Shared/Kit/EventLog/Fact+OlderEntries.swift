import ParlorContracts

// An entry of 0.1.0 has an event in place of the fact `sessionsEnded`. Remove this file in 0.3.0.
extension Fact {
    /// Derives the fact of such an entry from its first event; nil for any other.
    init?(older emission: Emission) {
        guard emission.event == "sessions:ended", let ended = SessionsEnded(emission.data) else { return nil }
        self = .sessionsEnded(ended)
    }
}
