/// A key press.
enum Key: Hashable, Sendable {
    case character(Character)
    /// A pasted text, its lines ended by `\n`, with no other control characters.
    case paste(String)
    case enter, escape, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// Control with a lower-case letter.
    case control(Character)
}
