extension Character {
    /// The number of terminal columns: 0, 1 or 2. It follows Unicode Standard Annex 11, simplified to large blocks;
    /// emoji have two.
    var columns: Int {
        guard let scalar = unicodeScalars.first else { return 0 }
        if scalar.value < 0x20 || (0x7f..<0xa0).contains(scalar.value) { return 0 }
        if [.nonspacingMark, .enclosingMark, .format].contains(scalar.properties.generalCategory) { return 0 }
        if scalar.properties.isEmojiPresentation { return 2 }
        // The variation selector FE0F turns a text symbol into an emoji.
        if unicodeScalars.contains("\u{fe0f}"), scalar.properties.isEmoji { return 2 }
        return Self.wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f,
        0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1faff, 0x20000...0x3fffd,
    ]
}

extension String {
    /// The number of terminal columns.
    var columns: Int { reduce(0) { $0 + $1.columns } }

    /// Returns the text, cut to `limit` columns. If something was cut off, it ends with `…`.
    func cut(to limit: Int) -> String {
        guard columns > limit else { return self }
        guard limit > 0 else { return "" }
        var (taken, room) = ("", limit - 1)
        for character in self {
            guard character.columns <= room else { break }
            room -= character.columns
            taken.append(character)
        }
        return taken + "…"
    }

    /// Returns the text in exactly `width` columns: cut off, or padded with spaces.
    func fitted(to width: Int) -> String {
        let text = cut(to: width)
        return text + String(repeating: " ", count: Swift.max(0, width - text.columns))
    }

    /// Returns the text in lines of at most `width` columns, broken at spaces where possible.
    func wrapped(to width: Int) -> [String] {
        guard width > 0 else { return [] }
        return split(separator: "\n", omittingEmptySubsequences: false).flatMap { String($0).wrappedLine(to: width) }
    }

    private func wrappedLine(to width: Int) -> [String] {
        var lines: [String] = []
        var line: [Character] = []
        var used = 0
        for character in self {
            if used + character.columns > width, character == " " {
                lines.append(String(line))
                (line, used) = ([], 0)
                continue
            }
            while used + character.columns > width, !line.isEmpty {
                // A word that does not fit moves to the next line, unless it is longer than a line.
                let start = line.lastIndex(of: " ").map { $0 + 1 } ?? line.count
                lines.append(String(line[..<start]).trimmedEnd)
                line = Array(line[start...])
                used = line.reduce(0) { $0 + $1.columns }
            }
            line.append(character)
            used += character.columns
        }
        return lines + [String(line)]
    }

    private var trimmedEnd: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }

    /// The text with spaces in place of control characters other than newlines, so that other people's texts cannot
    /// control the terminal.
    var harmless: String {
        String(
            String.UnicodeScalarView(
                unicodeScalars.map { scalar in
                    scalar == "\n" || (scalar.value >= 0x20 && !(0x7f..<0xa0).contains(scalar.value)) ? scalar : " "
                }))
    }

    /// The text as one harmless line: a line break, which a name may have, becomes a space.
    var harmlessLine: String { harmless.replacing("\n", with: " ") }
}
