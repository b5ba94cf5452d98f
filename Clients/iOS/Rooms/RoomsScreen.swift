import ParlorClient
import SwiftUI

/// All rooms, in the chosen order or grouped by person.
struct RoomsScreen: View {
    let client: RoomsClient
    @State private var isByPerson = false

    var body: some View {
        List {
            if isByPerson {
                RoomsByPerson(rooms: client.rooms, ownID: client.user.id)
            } else {
                RoomRows(rooms: client.rooms.rooms, list: client.rooms, ownID: client.user.id)
            }
        }
        .listStyle(.plain)
        .overlay { EmptyRooms(rooms: client.rooms) }
        .safeAreaInset(edge: .top) { RoomsFailure(rooms: client.rooms) }
        .refreshable { await client.rooms.refresh() }
        .connectionLine(client)
        .navigationTitle("Rooms")
        .toolbar {
            ToolbarItem(placement: .topBarTrailing) { RoomOrderMenu(rooms: client.rooms, isByPerson: $isByPerson) }
        }
    }
}

/// A row for each room. The room's id identifies the row, so only rows that change are drawn again.
struct RoomRows: View {
    let rooms: [Room]
    let list: RoomList
    let ownID: Person.ID

    var body: some View {
        let failedRoomIDs = list.failedRoomIDs
        ForEach(rooms) { room in
            NavigationLink(value: Route.chat(room)) {
                RoomRow(room: room, ownID: ownID, hasFailedMessage: failedRoomIDs.contains(room.id))
            }
        }
    }
}

/// A section for each person. The person with the latest activity is the first.
private struct RoomsByPerson: View {
    let rooms: RoomList
    let ownID: Person.ID

    var body: some View {
        ForEach(rooms.people) { group in
            Section(group.person.displayName) { RoomRows(rooms: group.rooms, list: rooms, ownID: ownID) }
        }
    }
}

private struct RoomOrderMenu: View {
    @Bindable var rooms: RoomList
    @Binding var isByPerson: Bool

    var body: some View {
        Menu {
            Toggle("By person", systemImage: "person.2", isOn: $isByPerson)
            Picker("Sort by", selection: $rooms.order) {
                Text("Latest activity").tag(RoomOrder.activity)
                Text("Latest message").tag(RoomOrder.messages)
                Text("Latest on the board").tag(RoomOrder.content)
            }
            // People are always sorted by activity.
            .disabled(isByPerson)
        } label: {
            Label("Sort", systemImage: "arrow.up.arrow.down")
        }
    }
}

/// What an empty list shows: that it is loading, why it could not be loaded, or how to start a room.
private struct EmptyRooms: View {
    let rooms: RoomList

    var body: some View {
        if rooms.rooms.isEmpty {
            if rooms.isLoaded {
                ContentUnavailableView(
                    "No rooms yet", systemImage: "bubble.left.and.bubble.right",
                    description: Text("Start one with somebody under People."))
            } else if let failure = rooms.failure, !rooms.isLoading {
                LoadFailure("Your rooms could not be loaded.", failure) { await rooms.refresh() }
            } else {
                ProgressView()
            }
        }
    }
}

/// Why the rooms may be out of date.
private struct RoomsFailure: View {
    let rooms: RoomList

    var body: some View {
        if !rooms.isLoaded, !rooms.rooms.isEmpty { OutdatedReason(rooms.failure) }
    }
}
