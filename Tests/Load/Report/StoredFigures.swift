import Glibc
import JSON
import TestClients

/// Ratios of an earlier run, to hold the next one against: `{row: {figure: value}}`, a row on each line.
///
/// Ratios alone, as times and rates say as much of the machine and of who else uses it.
struct StoredFigures {
    private let rows: [String: [String: Double]]

    /// What a ratio may lose before anyone is told: runs differ by less, on a machine that others use.
    private static let tolerance = 0.2

    /// - Throws: if it is not what `text(of:)` writes.
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

    /// To four digits: no run is as like another.
    private static func shortened(_ value: Double) -> Double {
        guard value > 0 else { return 0 }
        let scale = pow(10, 3 - floor(log10(value)))
        return (value * scale).rounded() / scale
    }

    /// A line for each ratio that fell by more than it may. What was not stored, or was not measured now, is passed over.
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
