/// An instant in whole milliseconds since 1970-01-01T00:00:00Z. It is stored and compared in milliseconds. Only the
/// text `isoSeconds` leaves them out.
public struct Timestamp: Sendable, Hashable, Comparable {
    public var milliseconds: Int

    public init(milliseconds: Int) { self.milliseconds = milliseconds }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }

    public func adding(_ duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(milliseconds: milliseconds + Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }

    /// The text `2024-12-17T09:45:00.123Z`, always with three decimals, so that the order of texts is the
    /// order of times.
    public var iso: String { written(withMilliseconds: true) }

    /// The text `2024-12-17T09:45:00Z`, truncated, not rounded. It is used for the times of rooms
    /// and people, because decoders of existing clients refuse fractions there.
    public var isoSeconds: String { written(withMilliseconds: false) }

    private func written(withMilliseconds: Bool) -> String {
        let (days, ofDay) = milliseconds.flooredDivision(by: 86_400_000)
        let date = CivilDate(daysSince1970: days)
        return String(unsafeUninitializedCapacity: 24) { buffer in
            var at = 0
            func put(_ character: Unicode.Scalar) {
                buffer[at] = UInt8(ascii: character)
                at += 1
            }
            func digits(_ value: Int, _ count: Int) {
                var rest = value
                for offset in stride(from: at + count - 1, through: at, by: -1) {
                    buffer[offset] = UInt8(ascii: "0") + UInt8(rest % 10)
                    rest /= 10
                }
                at += count
            }
            digits(min(max(date.year, 0), 9999), 4)
            put("-")
            digits(date.month, 2)
            put("-")
            digits(date.day, 2)
            put("T")
            digits(ofDay / 3_600_000, 2)
            put(":")
            digits(ofDay / 60_000 % 60, 2)
            put(":")
            digits(ofDay / 1000 % 60, 2)
            if withMilliseconds {
                put(".")
                digits(ofDay % 1000, 3)
            }
            put("Z")
            return at
        }
    }
}

/// A day of the proleptic Gregorian calendar, after Howard Hinnant's "chrono-compatible low-level date algorithms".
struct CivilDate {
    let year: Int, month: Int, day: Int

    init(daysSince1970 days: Int) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153  // March is 0
        day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }
}

extension Int {
    func flooredDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
