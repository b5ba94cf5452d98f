import Foundation

/// Parses the server's times: ISO 8601, with or without a fraction of a second.
///
/// The parser is written by hand for speed, because a list of rooms has hundreds of timestamps. A formatter takes
/// longer to parse one of them than the decoder takes for the rest of a message.
enum ServerDate {
    /// Parses a time. A time without a zone counts as UTC, because some older servers leave the zone out.
    ///
    /// - Returns: nil if the text is not a time.
    static func parse(_ text: String) -> Date? {
        var digits = Digits(rest: Array(text.utf8)[...])
        guard let year = digits.number(4), digits.skip("-"), let month = digits.number(2), digits.skip("-"),
            let day = digits.number(2), digits.skip("T") || digits.skip("t") || digits.skip(" "),
            let hour = digits.number(2), digits.skip(":"), let minute = digits.number(2), digits.skip(":"),
            let second = digits.number(2), (1...12).contains(month), (1...31).contains(day),
            hour < 24, minute < 60, second <= 60
        else { return nil }
        var milliseconds = 0
        if digits.skip(".") || digits.skip(",") {
            guard let fraction = digits.fraction() else { return nil }
            milliseconds = fraction
        }
        guard let offset = digits.zone(), digits.rest.isEmpty else { return nil }
        let days = daysSince1970(year: year, month: month, day: day)
        let seconds = days * 86_400 + hour * 3600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds * 1000 + milliseconds) / 1000)
    }

    /// Returns the days since 1970 of a Gregorian date (Howard Hinnant, `days_from_civil`).
    private static func daysSince1970(year: Int, month: Int, day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private struct Digits {
        var rest: ArraySlice<UInt8>

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest = rest.dropFirst()
            return true
        }

        private mutating func digit() -> Int? {
            guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
            rest = rest.dropFirst()
            return Int(byte - UInt8(ascii: "0"))
        }

        mutating func number(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let digit = digit() else { return nil }
                value = value * 10 + digit
            }
            return value
        }

        /// Parses a fraction of a second in milliseconds; more digits are cut off.
        mutating func fraction() -> Int? {
            var (value, count) = (0, 0)
            while let digit = digit() {
                if count < 3 { value = value * 10 + digit }
                count += 1
            }
            guard count > 0 else { return nil }
            for _ in min(count, 3)..<3 { value *= 10 }
            return value
        }

        /// Parses a zone, in seconds east of Greenwich; 0 if there is none.
        mutating func zone() -> Int? {
            if rest.isEmpty || skip("Z") || skip("z") { return 0 }
            let isEast = skip("+")
            guard isEast || skip("-"), let hours = number(2) else { return nil }
            _ = skip(":")
            guard let minutes = number(2), hours < 24, minutes < 60 else { return nil }
            return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
        }
    }
}
