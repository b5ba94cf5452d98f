/// A text to read: wrapped paragraphs that scroll by lines.
struct TextScreen: Equatable {
    var title: String
    var status: String
    var paragraphs: [String]
    /// The text shown if there are no paragraphs.
    var emptyText: String
    var help: String
    /// The index of the first visible line.
    var top = 0

    func frame(in size: WindowSize) -> Frame {
        let status = status.harmlessLine.cut(to: size.columns / 2)
        let header =
            Style.bold(title.harmlessLine.fitted(to: max(0, size.columns - status.columns))) + Style.dim(status)
        let height = Self.height(in: size)
        var body = Array(lines(in: size).dropFirst(min(top, lastTop(in: size))).prefix(height))
        if paragraphs.isEmpty { body = [Style.dim("  \(emptyText.harmlessLine)".fitted(to: size.columns))] }
        body += Array(repeating: "", count: max(0, height - body.count))
        return Frame(lines: [header] + body + [Style.dim(help.fitted(to: size.columns))], cursor: nil)
    }

    static func height(in size: WindowSize) -> Int { size.rows - 2 }

    /// Returns the value of `top` at which the last line is visible.
    func lastTop(in size: WindowSize) -> Int { max(0, lines(in: size).count - Self.height(in: size)) }

    private func lines(in size: WindowSize) -> [String] {
        paragraphs.flatMap { paragraph in
            paragraph.harmless.wrapped(to: max(1, size.columns - 2)).enumerated().map { ($0 == 0 ? "• " : "  ") + $1 }
        }
    }
}
