/// What somebody pressed.
enum Key: Hashable, Sendable {
    case character(Character)
    case enter, escape, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// With a lower-case letter.
    case control(Character)
}
