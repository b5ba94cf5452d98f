/// A key press.
enum Key: Hashable, Sendable {
    case character(Character)
    /// A pasted text. Lines end with `\n`; there are no other control characters.
    case paste(String)
    case enter, escape, tab, backspace, delete
    case up, down, left, right, home, end, pageUp, pageDown
    /// The Control key with a letter, which is lower case here.
    case control(Character)
}
