/// Colours and weights, by ECMA-48's SGR; those of the terminal's own palette, so that they fit its background.
enum Style: String {
    case bold = "1"
    case dim = "2"
    case reverse = "7"
    case alert = "31"
    case accent = "36"

    func callAsFunction(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// What a terminal shows: lines from the top, each no wider than it, and where the cursor stands.
struct Frame: Equatable {
    var lines: [String]
    var cursor: (column: Int, row: Int)?

    static func == (one: Frame, other: Frame) -> Bool {
        one.lines == other.lines && one.cursor?.column == other.cursor?.column && one.cursor?.row == other.cursor?.row
    }
}

struct WindowSize: Equatable {
    var columns: Int
    var rows: Int

    /// Less than this shows nothing of use; it is then drawn as if it were so large, and cut off by the terminal.
    init(columns: Int, rows: Int) {
        self.columns = max(columns, 20)
        self.rows = max(rows, 6)
    }
}
