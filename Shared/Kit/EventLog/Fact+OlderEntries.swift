import ParlorContracts

// An entry of the release before the fact `sessionsEnded` has an event in its place. Remove this file with the next release.
extension Fact {
    /// Derives the fact of such an entry from its first event; nil for any other.
    init?(older emission: Emission) {
        guard emission.event == "sessions:ended", let ended = SessionsEnded(emission.data) else { return nil }
        self = .sessionsEnded(ended)
    }
}
