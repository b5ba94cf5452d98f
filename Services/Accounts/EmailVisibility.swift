/// Who sees others' e-mail addresses: the setting `EMAIL_VISIBILITY`. One's own is always shown.
enum EmailVisibility: String, Sendable, CaseIterable {
    case everyone
    /// People one shares a room with.
    case shared
    case nobody
}
