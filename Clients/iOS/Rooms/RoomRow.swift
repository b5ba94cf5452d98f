import ParlorClient
import SwiftUI

/// A row of the list of rooms. It shows when the room was created, which distinguishes unnamed rooms of the same two
/// people.
struct RoomRow: View {
    let room: Room
    let ownID: Person.ID
    /// True if a message of the person has failed (`RoomList.failedRoomIDs`).
    let hasFailedMessage: Bool

    var body: some View {
        HStack(alignment: .top, spacing: 12) {
            ActivityIcon(type: room.lastActivityType, isVisited: room.isVisited(besides: ownID))
            VStack(alignment: .leading, spacing: 2) {
                HStack(alignment: .firstTextBaseline) {
                    RoomName(room: room).font(.headline)
                    Spacer()
                    ActivityTime(date: room.lastActivityDate)
                        .font(.caption)
                        .foregroundStyle(.secondary)
                }
                Text(room.others(besides: ownID)).font(.subheadline)
                lastMessage
                    .font(.subheadline)
                    .foregroundStyle(.secondary)
                    .lineLimit(1)
                if hasFailedMessage {
                    Label("A message was not sent", systemImage: "exclamationmark.circle")
                        .font(.subheadline)
                        .foregroundStyle(.red)
                }
                HStack {
                    facts
                    Spacer()
                    RoomBadges(badges: room.badges)
                }
            }
        }
        .accessibilityElement(children: .combine)
    }

    private var lastMessage: Text {
        guard let message = room.lastMessage else { return Text("No messages yet") }
        return message.senderID == ownID ? Text("You: \(message.text)") : Text(message.text)
    }

    private var facts: some View {
        Text(
            """
            Created \(room.createdAt, format: .dateTime.day().month().year().hour().minute()) · \
            ^[\(room.elementCount) item](inflect: true) on the board
            """
        )
        .font(.caption)
        .foregroundStyle(.secondary)
    }
}

/// The name, or "Unnamed room".
struct RoomName: View {
    let room: Room

    var body: some View {
        if let name = room.visibleName {
            Text(name).lineLimit(1)
        } else {
            Text("Unnamed room").foregroundStyle(.secondary)
        }
    }
}

/// The kind of the last activity, and a dot while the other person has the room open.
private struct ActivityIcon: View {
    let type: Room.ActivityType
    let isVisited: Bool

    var body: some View {
        symbol
            .frame(width: 28)
            .foregroundStyle(.tint)
            .overlay(alignment: .topTrailing) {
                if isVisited {
                    Circle()
                        .fill(.green)
                        .frame(width: 8, height: 8)
                        .accessibilityLabel("Somebody is here now")
                }
            }
    }

    @ViewBuilder private var symbol: some View {
        switch type {
        case .message: Image(systemName: "bubble.left").accessibilityLabel("Last: a message")
        case .roomUpdate: Image(systemName: "square.and.pencil").accessibilityLabel("Last: a change of the room")
        }
    }
}
