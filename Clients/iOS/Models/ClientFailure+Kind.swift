import RoomsClient

extension ClientFailure {
    /// Whether there is no network, or nobody at its other end: the line above the lists says that already.
    var isOffline: Bool { if case .offline = self { true } else { false } }
}
