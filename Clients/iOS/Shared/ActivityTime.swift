import ParlorClient
import SwiftUI

/// The age of a date, which is updated every minute.
struct ActivityTime: View {
    let date: Date
    @Environment(\.calendar) private var calendar

    var body: some View {
        TimelineView(.everyMinute) { context in
            text(RelativeTime(of: date, now: context.date, calendar: calendar))
        }
    }

    private func text(_ time: RelativeTime) -> Text {
        switch time {
        case .now: Text("now")
        case .minutes(let count): Text("\(count) min")
        case .hours(let count): Text("\(count) h")
        case .yesterday: Text("yesterday")
        case .date(let date): Text(date, format: .dateTime.day().month().year())
        }
    }
}
