import Foundation

/// The age of a time, as a list shows it.
///
/// It has no words, so that an app can use its own; ``text(date:)`` writes English.
public enum RelativeTime: Hashable, Sendable {
    /// Less than a minute ago, or in the future, as happens if clocks differ.
    case now
    /// Less than an hour ago, even if that was yesterday.
    case minutes(Int)
    /// Earlier on the same day.
    case hours(Int)
    /// The day before.
    case yesterday
    /// Earlier than the day before.
    case date(Date)

    /// Compares a time with now.
    ///
    /// - Parameter calendar: its time zone decides when a day begins.
    public init(of date: Date, now: Date, calendar: Calendar) {
        let seconds = now.timeIntervalSince(date)
        if seconds < 60 {
            self = .now
        } else if seconds < 60 * 60 {
            self = .minutes(Int(seconds) / 60)
        } else if calendar.isDate(date, inSameDayAs: now) {
            self = .hours(Int(seconds) / 3600)
        } else if let before = calendar.date(byAdding: .day, value: -1, to: now),
            calendar.isDate(date, inSameDayAs: before)
        {
            self = .yesterday
        } else {
            self = .date(date)
        }
    }

    /// Returns `now`, `5 min`, `3 h`, `yesterday`, or the date as `format` writes it.
    public func text(date format: (Date) -> String) -> String {
        switch self {
        case .now: "now"
        case .minutes(let count): "\(count) min"
        case .hours(let count): "\(count) h"
        case .yesterday: "yesterday"
        case .date(let date): format(date)
        }
    }
}
