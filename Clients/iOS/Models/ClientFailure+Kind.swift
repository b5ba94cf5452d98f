import ParlorClient

extension ClientFailure {
    /// True if the server could not be reached. `ConnectionLine` shows that already.
    var isOffline: Bool { if case .offline = self { true } else { false } }
}
