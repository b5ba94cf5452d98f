import Foundation
import ParlorClient

/// A message, and whether the line of its day is above it.
nonisolated struct DatedMessage: Identifiable, Equatable {
    let item: MessageItem
    let isFirstOfDay: Bool

    var id: MessageItem.ID { item.id }
}

/// A conversation's messages with the beginnings of days. Each is found when its row is made, so a list with many
/// messages costs no more than one with few.
nonisolated struct DatedMessages: RandomAccessCollection {
    let items: MessageItems
    let calendar: Calendar

    var startIndex: Int { items.startIndex }
    var endIndex: Int { items.endIndex }

    subscript(index: Int) -> DatedMessage {
        let item = items[index]
        let isFirst =
            index == startIndex || !calendar.isDate(items[index - 1].createdAt, inSameDayAs: item.createdAt)
        return DatedMessage(item: item, isFirstOfDay: isFirst)
    }
}

/// A day as a line between messages shows it.
enum Day: Equatable {
    case today, yesterday
    case date(Date)

    init(of date: Date, now: Date, calendar: Calendar) {
        self =
            switch RelativeTime(of: calendar.startOfDay(for: date), now: now, calendar: calendar) {
            case .now, .minutes, .hours: .today
            case .yesterday: .yesterday
            case .date: .date(date)
            }
    }
}
