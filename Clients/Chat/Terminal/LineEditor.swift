/// A line being typed; pasted text in it may have several lines.
struct LineEditor: Equatable, Sendable {
    private(set) var characters: [Character] = []
    /// The character index at which the next character is inserted: 0 is before the first.
    private(set) var cursor = 0

    init() {}

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// - Returns: true if the editor handled the key; Enter and Escape are not handled.
    @discardableResult
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .character(let character):
            characters.insert(character, at: cursor)
            cursor += 1
        case .paste(let text):
            characters.insert(contentsOf: text, at: cursor)
            cursor += text.count
        case .backspace:
            guard cursor > 0 else { return true }
            cursor -= 1
            characters.remove(at: cursor)
        case .delete:
            if cursor < characters.count { characters.remove(at: cursor) }
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(characters.count, cursor + 1)
        case .home, .control("a"): cursor = 0
        case .end, .control("e"): cursor = characters.count
        case .control("u"):
            characters.removeSubrange(..<cursor)
            cursor = 0
        case .control("k"): characters.removeSubrange(cursor...)
        case .control("w"):
            let start = characters[..<cursor].lastWord
            characters.removeSubrange(start..<cursor)
            cursor = start
        default: return false
        }
        return true
    }

    mutating func take() -> String {
        defer { self = LineEditor() }
        return text
    }
}

extension ArraySlice<Character> {
    /// The index of the last word's start; trailing spaces belong to the word.
    fileprivate var lastWord: Int {
        var index = endIndex
        while index > startIndex, self[index - 1] == " " { index -= 1 }
        while index > startIndex, self[index - 1] != " " { index -= 1 }
        return index
    }
}
