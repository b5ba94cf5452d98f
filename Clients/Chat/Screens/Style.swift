/// Colours and weights as SGR sequences (ECMA-48). The colours are those of the terminal's palette, so that they suit
/// its background.
enum Style: String {
    case bold = "1"
    case dim = "2"
    case reverse = "7"
    case alert = "31"
    case accent = "36"

    func callAsFunction(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// The content of a window: lines from the top, none wider than the window, and the position of the cursor.
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

    /// Creates a size of at least 20 by 6. A smaller terminal cuts off a part of each frame.
    init(columns: Int, rows: Int) {
        self.columns = max(columns, 20)
        self.rows = max(rows, 6)
    }
}
