/// A table for a terminal.
enum TextTable {
    /// Returns the rows, one a line, with an empty line at the end.
    ///
    /// - Parameters:
    ///   - rows: the first one has the names of the columns. All are as long as that one.
    ///   - named: the number of leading columns that contain names, which are aligned left. Numbers are aligned
    ///     right.
    static func text(_ rows: [[String]], named: Int) -> String {
        let widths = rows[0].indices.map { column in rows.reduce(0) { max($0, $1[column].count) } }
        return rows.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < named ? cell.0 + padding : padding + cell.0
            }.joined(separator: "  ")
        }.joined(separator: "\n") + "\n"
    }

    static func time(_ duration: Duration) -> String {
        let seconds = Int(duration.components.seconds)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) d"
        }
    }
}
