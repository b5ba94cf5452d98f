import Glibc
import ParlorJSON
import TestClients

/// The ratios of an earlier run, to compare with the next: `{row: {figure: value}}`, a row on each
/// line.
///
/// Only ratios, as times and rates depend on the machine and its other users.
struct StoredFigures {
    private let rows: [String: [String: Double]]

    /// The part of a ratio that may be lost without a warning: runs differ by less, even on a
    /// shared machine.
    private static let tolerance = 0.2

    /// - Throws: if the text is not in the format of `text(of:)`.
    init(parsing text: [UInt8]) throws(ClientError) {
        guard let object = try? JSONValue(parsing: text).object else {  // whatever is wrong with it
            throw ClientError("the stored figures are no JSON object")
        }
        rows = object.all.reduce(into: [:]) { rows, row in
            rows[row.name] = row.value.object?.all.reduce(into: [:]) { $0[$1.name] = $1.value.double }
        }
    }

    static func read(_ path: String) throws(ClientError) -> StoredFigures {
        guard let file = fopen(path, "r") else { throw ClientError("\(path) cannot be read") }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65_536)
        while case let count = fread(&piece, 1, piece.count, file), count > 0 { bytes += piece[..<count] }
        return try StoredFigures(parsing: bytes)
    }

    static func text(of rows: [Row]) -> String {
        let lines = rows.compactMap { row -> String? in
            let ratios = row.figures.filter { $0.speed != nil }
            guard !ratios.isEmpty else { return nil }
            let figures = JSONWriter.object { json in
                for figure in ratios {
                    json.name(figure.name)
                    json.number(shortened(figure.value))
                }
            }
            return "    \(JSONValue(row.name).text): \(figures.text)"
        }
        return "{\n\(lines.joined(separator: ",\n"))\n}\n"
    }

    /// Rounds to four digits, more than any two runs agree on.
    private static func shortened(_ value: Double) -> Double {
        guard value > 0 else { return 0 }
        let scale = pow(10, 3 - floor(log10(value)))
        return (value * scale).rounded() / scale
    }

    /// Returns a line for each ratio that fell by more than the tolerance. Ratios that were not
    /// stored, or not measured now, are skipped.
    func warnings(about now: [Row]) -> [String] {
        now.flatMap { row in
            row.figures.compactMap { figure -> String? in
                guard let value = rows[row.name]?[figure.name], let speed = figure.speed,
                    let before = Figure(figure.name, value, figure.unit).speed, speed < before * (1 - Self.tolerance)
                else { return nil }
                let fall = ReportTable.decimal((1 - speed / before) * 100, decimals: 0)
                let (then, here) = (
                    ReportTable.decimal(value, decimals: 2), ReportTable.decimal(figure.value, decimals: 2)
                )
                return "warning: \(row.name): \(figure.name) is worse by \(fall) %: \(here), and \(then) before"
            }
        }
    }
}
