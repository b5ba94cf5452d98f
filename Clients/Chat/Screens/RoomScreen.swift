/// One room: its messages, who is typing, its element count, and the input line.
struct RoomScreen: Equatable {
    struct Entry: Equatable {
        /// The day, in words, above the first message of that day; empty for the others.
        var day = ""
        var author: String
        var text: String
        var time: String
        var isMine = false
        /// The mark after the person's own message: `…` not stored yet, `✓` stored, `✓✓` read, or why it failed.
        var mark = ""
        var hasFailed = false
    }

    var title: String
    var status: String
    /// The messages. The last one is at the bottom.
    var entries: [Entry]
    var typing: String
    var notice = ""
    var input: LineEditor
    /// The room to which a message goes, if there are several.
    var target: String?

    /// Draws the screen.
    ///
    /// - Parameter offset: the number of lines by which the view is scrolled up.
    /// - Returns: the frame; the number of visible entries, of which the first and the last may be cut off; and the
    ///   number of entries below them.
    func drawn(in size: WindowSize, scrolledBy offset: Int = 0) -> (frame: Frame, entryCount: Int, below: Int) {
        let status = status.harmlessLine.cut(to: size.columns / 2)
        let header =
            Style.bold(title.harmlessLine.fitted(to: max(0, size.columns - status.columns))) + Style.dim(status)
        let hints = hints(in: size)
        let height = height(in: size)
        // The lines, with the indices of their entries. They are collected from the last entry upwards, until they fill
        // the view and the part below it.
        var all: [(line: String, entry: Int, isDay: Bool)] = []
        for (index, entry) in entries.enumerated().reversed() where all.count < height + offset {
            all = lines(of: entry, in: size.columns).map { ($0.text, index, $0.isDay) } + all
        }
        let shown = all.dropLast(min(offset, max(0, all.count - height))).suffix(height)
        let body = Array(repeating: "", count: height - shown.count) + shown.map(\.line)
        let first = shown.first?.entry ?? entries.count
        // A message of which only the day is visible is not visible.
        let end = shown.last.map { $0.isDay ? $0.entry : $0.entry + 1 } ?? entries.count
        let (line, column) = InputLine(prompt: prompt(in: size), editor: input).drawn(in: size.columns)
        let lines = [header] + body + hints.map { Style.dim($0.fitted(to: size.columns)) } + [line]
        return (Frame(lines: lines, cursor: (column, lines.count - 1)), end - first, entries.count - end)
    }

    private func prompt(in size: WindowSize) -> String {
        (target.map { $0.harmlessLine.cut(to: size.columns / 2 - 2) } ?? "") + "> "
    }

    /// Returns the offset at which the first line is at the top.
    func lastOffset(in size: WindowSize) -> Int { max(0, lineCount(in: size) - height(in: size)) }

    /// The number of lines for messages: all lines except the header, the hints and the input.
    private func height(in size: WindowSize) -> Int { size.rows - 2 - hints(in: size).count }

    /// Who is typing, or the notice, in at most a third of the window.
    private func hints(in size: WindowSize) -> [String] {
        let hint = typing.isEmpty ? notice : typing
        let lines = hint.harmlessLine.wrapped(to: size.columns)
        let limit = max(1, size.rows / 3)
        guard lines.count > limit else { return lines }
        return lines.prefix(limit - 1) + [lines[(limit - 1)...].joined(separator: " ").cut(to: size.columns)]
    }

    /// Returns the number of lines of all entries.
    func lineCount(in size: WindowSize) -> Int {
        entries.reduce(0) { $0 + lines(of: $1, in: size.columns).count }
    }

    private func lines(of entry: Entry, in width: Int) -> [(text: String, isDay: Bool)] {
        let time = "\(entry.time)  "
        let author = entry.author.harmlessLine.cut(to: max(1, width / 2 - time.columns - 2))
        let head = "\(time)\(author): "
        let tail = entry.mark.isEmpty ? "" : "  \(entry.mark.harmlessLine)"
        let text = entry.text.harmless
        var links = Hyperlinks(in: text)
        let lines = (text + tail).wrapped(to: max(1, width - head.columns)).enumerated().map { index, text in
            let start = (index == 0 ? head : String(repeating: " ", count: head.columns)).cut(to: width)
            let line = start + links.mark(text, cutTo: width - start.columns)
            return (text: entry.hasFailed ? Style.alert(line) : line, isDay: false)
        }
        guard !entry.day.isEmpty else { return lines }
        return [(Style.dim("── \(entry.day) ──".cut(to: width)), true)] + lines
    }
}
