/// Dates as HTTP writes them (`IMF-fixdate`, RFC 9110, section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
public enum HTTPDate {
    private static let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// - Parameter unixTime: seconds since 1970. The format has four digits for a year, so what is before 1970 or after
    ///   9999 is moved to these ends.
    public static func string(unixTime: Int) -> String {
        let seconds = min(max(unixTime, 0), 253_402_300_799)
        let (days, time) = seconds.quotientAndRemainder(dividingBy: 86_400)
        let (year, month, day) = civil(daysSince1970: days)
        return "\(weekdays[days % 7]), \(padded(day)) \(months[month - 1]) \(padded(year, 4)) "
            + "\(padded(time / 3600)):\(padded(time / 60 % 60)):\(padded(time % 60)) GMT"
    }

    /// Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", `civil_from_days`, for days from 1970 on: years
    /// begin in March, so that the day that comes and goes is the last one.
    private static func civil(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (daysSince1970 + 719_468).quotientAndRemainder(dividingBy: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }
}
