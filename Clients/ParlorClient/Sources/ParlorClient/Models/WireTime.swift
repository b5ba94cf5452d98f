/// Writes times as the contract does. The arguments are milliseconds since 1970.
package enum WireTime {
    /// Returns a time without a fraction: `2024-12-17T09:45:00Z`.
    package static func seconds(_ milliseconds: Int) -> String { text(milliseconds) + "Z" }

    /// Returns a time with milliseconds: `2024-12-17T09:45:00.123Z`.
    package static func milliseconds(_ milliseconds: Int) -> String {
        "\(text(milliseconds)).\(padded(modulo(milliseconds, 1000), 3))Z"
    }

    private static func text(_ milliseconds: Int) -> String {
        let seconds = (milliseconds - modulo(milliseconds, 1000)) / 1000
        let second = modulo(seconds, 86_400)
        let day = (seconds - second) / 86_400
        // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms": civil_from_days; years begin in March.
        let shifted = day + 719_468
        let era = (shifted - modulo(shifted, 146_097)) / 146_097
        let dayOfEra = modulo(shifted, 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(dayOfMonth, 2))"
        return "\(date)T\(padded(second / 3600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    }

    private static func modulo(_ value: Int, _ divisor: Int) -> Int {
        let rest = value % divisor
        return rest < 0 ? rest + divisor : rest
    }

    private static func padded(_ value: Int, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
