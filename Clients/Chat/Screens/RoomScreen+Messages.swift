import Foundation
import ParlorClient

extension RoomScreen.Entry {
    /// - Parameter previous: the message before it, which may not be on the screen; nil for the first one.
    init(_ item: MessageItem, after previous: MessageItem?, by author: String, isMine: Bool) {
        let isSameDay = previous.map { Calendar.current.isDate($0.createdAt, inSameDayAs: item.createdAt) } ?? false
        self.init(
            day: isSameDay ? "" : Self.name(ofDayOf: item.createdAt, now: Date()), author: author, text: item.text,
            time: item.createdAt.formatted(date: .omitted, time: .shortened), isMine: isMine)
        guard isMine else { return }
        switch item.state {
        case .queued, .sending: mark = "…"
        case .stored: mark = "✓"
        case .read: mark = "✓✓"
        case .failed(let failure): (mark, hasFailed) = ("not sent: \(failure.message)", true)
        }
    }

    /// Returns `Today`, `Yesterday`, or a date.
    static func name(ofDayOf date: Date, now: Date) -> String {
        let start = Calendar.current.startOfDay(for: date)
        return switch RelativeTime(of: start, now: now, calendar: .current) {
        case .now, .minutes, .hours: "Today"
        case .yesterday: "Yesterday"
        case .date: date.formatted(date: .complete, time: .omitted)
        }
    }
}
