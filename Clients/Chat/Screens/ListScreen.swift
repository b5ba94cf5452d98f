/// A list to choose from: rooms, people, or people with their rooms below them.
struct ListScreen: Equatable {
    struct Row: Equatable {
        enum Kind: Equatable {
            case choice
            /// A person above their rooms.
            case heading
        }

        var kind = Kind.choice
        var title: String
        /// What tells rows with the same title apart. A long title is cut off to make room for it.
        var distinction = ""
        /// A note after the title, cut off if it does not fit.
        var detail = ""
        /// The count of what is new; empty if there is nothing new.
        var badge = ""
        /// A warning, shown in full in place of `others`; empty if there is none.
        var warning = ""
        /// The badges of plugins that are above zero, such as `polls 2`.
        var others = ""
        /// A sign of what happened at `time`; empty for a person.
        var activity = ""
        /// The time at the right edge.
        var time = ""
    }

    /// The minimum number of columns for a title that has a distinction.
    private static let shortestTitle = 8

    var title: String
    var status: String
    var rows: [Row]
    var selection: Int
    /// The text shown if there are no rows.
    var emptyText: String
    var help: String
    /// The open question, and the answer that was typed so far.
    var question: (prompt: String, answer: LineEditor)?

    static func == (one: ListScreen, other: ListScreen) -> Bool {
        one.title == other.title && one.status == other.status && one.rows == other.rows
            && one.selection == other.selection && one.help == other.help
            && one.question?.prompt == other.question?.prompt && one.question?.answer == other.question?.answer
    }

    func frame(in size: WindowSize) -> Frame {
        var lines = [header(in: size.columns)]
        let height = size.rows - 2
        let first = rows.isEmpty ? 0 : max(0, min(selection - height / 2, rows.count - height))
        for (index, row) in rows.enumerated().dropFirst(first).prefix(height) {
            lines.append(line(of: row, isSelected: index == selection, in: size.columns))
        }
        if rows.isEmpty { lines.append(Style.dim("  \(emptyText.harmlessLine)".fitted(to: size.columns))) }
        lines += Array(repeating: "", count: max(0, height + 1 - lines.count))
        guard let question else {
            lines.append(Style.dim(help.fitted(to: size.columns)))
            return Frame(lines: lines, cursor: nil)
        }
        let (line, column) = InputLine(prompt: question.prompt, editor: question.answer).drawn(in: size.columns)
        lines.append(line)
        return Frame(lines: lines, cursor: (column, lines.count - 1))
    }

    private func header(in width: Int) -> String {
        let status = status.harmlessLine.cut(to: width / 2)
        return Style.bold(title.harmlessLine.fitted(to: max(0, width - status.columns))) + Style.dim(status)
    }

    private func line(of row: Row, isSelected: Bool, in width: Int) -> String {
        if row.kind == .heading {
            let text = "\(isSelected ? "›" : "") \(row.title.harmlessLine)".fitted(to: width)
            return isSelected ? Style.reverse(text) : Style.bold(text)
        }
        let mark = isSelected ? "› " : "  "
        // Names of badges come from the server. They are cut, so that the title has room.
        let others =
            row.warning.isEmpty
            ? row.others.harmlessLine.cut(to: width / (row.distinction.isEmpty ? 3 : 6)) : row.warning
        let time = row.activity.isEmpty ? row.time : "\(row.activity) \(row.time)"
        let right = [row.badge.isEmpty ? "" : "(\(row.badge))", others, time].filter { !$0.isEmpty }
            .joined(separator: "  ")
        let room = max(0, width - right.columns - 1)
        var left = mark
        if row.distinction.isEmpty {
            left += row.title.harmlessLine
        } else {
            let rest = room - left.columns - row.distinction.columns - 2
            left += row.title.harmlessLine.cut(to: max(Self.shortestTitle, rest)) + "  " + row.distinction
        }
        // A detail that is cut off ends with `…`, which must not replace the end of the distinction.
        let hasRoom = row.distinction.isEmpty || left.columns + 3 < room
        if !row.detail.isEmpty, hasRoom { left += "  " + row.detail.harmlessLine }
        let text = (left.fitted(to: room) + " " + right).fitted(to: width)
        if isSelected { return Style.reverse(text) }
        let isPlain = row.badge.isEmpty && row.others.isEmpty && row.warning.isEmpty
        return isPlain ? text : Style.bold(text)
    }
}

/// A prompt and an input line. If the input is too long, the text just before the cursor is shown, and then as much of
/// the text after it as fits.
struct InputLine {
    var prompt: String
    var editor: LineEditor

    func drawn(in width: Int) -> (line: String, column: Int) {
        let prompt = prompt.harmlessLine.cut(to: width / 2)
        let room = width - prompt.columns - 1
        let characters = editor.characters.map { $0 == "\n" ? "⏎" : $0 }
        var start = editor.cursor
        var used = 0
        while start > 0, used + characters[start - 1].columns <= room {
            start -= 1
            used += characters[start].columns
        }
        let visible = String(characters[start...]).cut(to: room + 1)
        return (Style.accent(prompt) + visible, prompt.columns + used)
    }
}
