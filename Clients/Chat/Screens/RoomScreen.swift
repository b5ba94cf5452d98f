/// One room: its messages, who types, what is on its board, and the line that is being typed.
struct RoomScreen: Equatable {
    struct Entry: Equatable {
        var author: String
        var text: String
        var time: String
        var isMine = false
        /// Behind a message of one's own: `…` while it is under way, `✓` stored, `✓✓` read, and why it failed.
        var mark = ""
        var hasFailed = false
    }

    var title: String
    var status: String
    /// The last one stands at the bottom.
    var entries: [Entry]
    var typing: String
    var notice = ""
    var input: LineEditor

    /// - Returns: with how many of the entries there was room for, counted from the last, the uppermost perhaps not whole.
    func drawn(in size: WindowSize) -> (frame: Frame, entryCount: Int) {
        let status = status.cut(to: size.columns / 2)
        let header =
            Style.bold(title.harmless.fitted(to: max(0, size.columns - status.columns))) + Style.dim(status)
        let height = size.rows - 3
        // From the last up, until the window is full.
        var body: [String] = []
        var count = 0
        for entry in entries.reversed() where body.count < height {
            body = lines(of: entry, in: size.columns) + body
            count += 1
        }
        body = body.suffix(height)
        body = Array(repeating: "", count: height - body.count) + body
        let hint = typing.isEmpty ? notice : typing
        let (line, column) = InputLine(prompt: "> ", editor: input).drawn(in: size.columns)
        let all = [header] + body + [Style.dim(hint.harmless.fitted(to: size.columns)), line]
        return (Frame(lines: all, cursor: (column, all.count - 1)), count)
    }

    private func lines(of entry: Entry, in width: Int) -> [String] {
        let head = "\(entry.time)  \(entry.author.harmless): ".cut(to: width / 2)
        let tail = entry.mark.isEmpty ? "" : "  \(entry.mark)"
        let wrapped = (entry.text.harmless + tail).wrapped(to: max(1, width - head.columns))
        return wrapped.enumerated().map { index, text in
            let line = (index == 0 ? head : String(repeating: " ", count: head.columns)) + text
            return entry.hasFailed ? Style.alert(line.cut(to: width)) : line.cut(to: width)
        }
    }
}
