import Foundation

/// How long ago something was, as a list says it.
///
/// The rule alone: an app says it in its own language, and ``text(date:)`` in English.
public enum RelativeTime: Hashable, Sendable {
    /// Less than a minute ago, or in the future, where clocks differ.
    case now
    /// Less than an hour ago, also when that was yesterday.
    case minutes(Int)
    /// On the same day.
    case hours(Int)
    /// On the day before.
    case yesterday
    case date(Date)

    /// - Parameter calendar: whose days they are, by its time zone.
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

    /// `now`, `5 min`, `3 h`, `yesterday`, or the date as the app writes it.
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
