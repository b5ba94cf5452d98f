import Glibc

/// The rows as a table.
enum ReportTable {
    static func lines(of row: Row) -> String {
        let figures = row.figures.map { "\($0.name) \(text(of: $0))" }.joined(separator: "   ")
        return (["\n\(row.name)", "    \(figures)"] + row.faults.map { "    FAULT: \($0)" }).joined(separator: "\n")
    }

    private static func text(of figure: Figure) -> String {
        switch figure.unit {
        case .milliseconds: "\(decimal(figure.value, decimals: 3)) ms"
        case .perSecond: "\(decimal(figure.value, decimals: 0))/s"
        case .ratio, .timeRatio, .tailRatio: decimal(figure.value, decimals: 2)
        case .count: decimal(figure.value, decimals: 0)
        }
    }

    static func decimal(_ value: Double, decimals: Int) -> String {
        let scale = pow(10, Double(decimals))
        let rounded = (abs(value) * scale).rounded()
        guard rounded < 1e15 else { return "\(value)" }
        let digits = String(Int(rounded))
        let padded = String(repeating: "0", count: max(decimals + 1 - digits.count, 0)) + digits
        let sign = value < 0 ? "-" : ""
        return decimals == 0 ? sign + padded : "\(sign)\(padded.dropLast(decimals)).\(padded.suffix(decimals))"
    }
}
