/// What somebody pressed.
enum Key: Hashable, Sendable {
    case character(Character)
    /// A whole text at once, its lines ended by `\n`, with no other control characters.
    case paste(String)
    case enter, escape, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// With a lower-case letter.
    case control(Character)
}
