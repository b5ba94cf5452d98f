/// Colours and weights as SGR sequences (ECMA-48), from the terminal's own palette so that they
/// suit its background.
enum Style: String {
    case bold = "1"
    case dim = "2"
    case reverse = "7"
    case alert = "31"
    case accent = "36"

    func callAsFunction(_ text: String) -> String { "\u{1b}[\(rawValue)m\(text)\u{1b}[0m" }
}

/// The content of the terminal: lines from the top, each no wider than it, and the cursor's
/// position.
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

    /// Creates a size, at least 20 by 6. A smaller terminal cuts off what is drawn.
    init(columns: Int, rows: Int) {
        self.columns = max(columns, 20)
        self.rows = max(rows, 6)
    }
}
