/// The text of an input line and its cursor. Pasted text may have several lines.
struct LineEditor: Equatable, Sendable {
    private(set) var characters: [Character] = []
    /// The index at which the next character is inserted. 0 is before the first character.
    private(set) var cursor = 0

    init() {}

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// Handles a key.
    ///
    /// - Returns: false if the editor does not use the key, such as Enter and Escape.
    @discardableResult
    mutating func press(_ key: Key) -> Bool {
        switch key {
        case .character(let character): insert(String(character))
        case .paste(let text): insert(text)
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

    /// Inserts text at the cursor. An accent or a part of an emoji that is typed by itself joins the character before
    /// it.
    private mutating func insert(_ text: String) {
        let before = Array(String(characters[..<cursor]) + text)
        characters = before + characters[cursor...]
        cursor = before.count
    }

    /// Puts a text before the text that is there, on lines of its own. The cursor is after it.
    mutating func putBack(_ text: String) {
        cursor = 0
        insert(characters.isEmpty ? text : "\(text)\n")
    }

    /// Returns the text and empties the editor.
    mutating func take() -> String {
        defer { self = LineEditor() }
        return text
    }
}

extension ArraySlice<Character> {
    /// The index at which the last word begins. Spaces after it belong to the word.
    fileprivate var lastWord: Int {
        var index = endIndex
        while index > startIndex, self[index - 1] == " " { index -= 1 }
        while index > startIndex, self[index - 1] != " " { index -= 1 }
        return index
    }
}
