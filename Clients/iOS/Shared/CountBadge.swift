import ParlorClient
import SwiftUI

/// A count on a coloured background: `99+` above 99, and hidden for 0.
struct CountBadge<Label: View>: View {
    private let count: Int
    private let color: Color
    private let label: Label

    /// Creates a badge.
    ///
    /// - Parameter label: the text that VoiceOver speaks in place of the number.
    init(_ count: Int, color: Color, @ViewBuilder label: () -> Label) {
        self.count = count
        self.color = color
        self.label = label()
    }

    var body: some View {
        if let text = BadgeText.text(count) {
            Text(text)
                .font(.caption2.bold())
                .monospacedDigit()
                .foregroundStyle(.white)
                .padding(.horizontal, 6)
                .padding(.vertical, 2)
                .background(color, in: .capsule)
                .accessibilityRepresentation { label }
        }
    }
}

/// The badges of a room or a person.
struct RoomBadges: View {
    let badges: Room.Badges

    var body: some View {
        CountBadge(badges.messages, color: .red) {
            Text("^[\(badges.messages) unread message](inflect: true)")
        }
        CountBadge(badges.elements, color: .blue) {
            Text("^[\(badges.elements) new item](inflect: true) on the board")
        }
    }
}
