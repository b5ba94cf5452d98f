import RoomsClient
import SwiftUI

/// All rooms, in one of three orders, with badges. The list sorts itself.
struct RoomsScreen: View {
    let client: RoomsClient

    var body: some View {
        @Bindable var rooms = client.rooms
        List(rooms.rooms) { room in
            NavigationLink(value: Route.room(room.id)) { RoomRow(room: room) }
        }
        .navigationTitle("Rooms")
        .toolbar {
            Picker("Sort", selection: $rooms.order) {
                ForEach(RoomOrder.allCases, id: \.self) { Text($0.rawValue) }
            }
        }
        .overlay { if !rooms.isLoaded, rooms.rooms.isEmpty { ProgressView() } }
        .refreshable { await client.rooms.refresh() }
    }
}

struct RoomRow: View {
    let room: Room

    var body: some View {
        HStack {
            VStack(alignment: .leading) {
                Text(room.title()).font(.headline)
                Text(room.lastMessage?.text ?? "").font(.caption)
            }
            Spacer()
            if let badge = BadgeText.text(room.badges.messages) { Text(badge) }
            if let badge = BadgeText.text(room.badges.elements) { Text(badge).foregroundStyle(.secondary) }
            Text(room.lastActivityDate, style: .relative).font(.caption)
        }
    }
}

/// A line above every screen: nothing while all is well.
struct ConnectionBanner: View {
    let client: RoomsClient

    var body: some View {
        switch client.connection {
        case .waiting: Text("No connection")
        case .connected where client.isPolling: Text("Slow connection")
        default: Text("")
        }
    }
}

struct RoomsScreen_Previews: PreviewProvider {
    static var previews: some View { NavigationStack { RoomsScreen(client: PreviewClient.client) } }
}
