import ParlorClient

extension ClientFailure {
    /// True if the server could not be reached. Notices leave such a failure out, because `ConnectionLine` shows it.
    var isOffline: Bool { if case .offline = self { true } else { false } }
}
