import ParlorClient
import SwiftUI
import UserNotifications

/// The tabs for rooms and people. Each has its own navigation from a list to a room.
struct HomeScreen: View {
    let account: ParlorAccount
    let client: RoomsClient
    let signOut: () async -> Void
    @State private var tab = HomeTab.rooms
    @State private var roomsPath: [Route] = []
    @State private var peoplePath: [Route] = []
    @State private var failure: String?

    var body: some View {
        TabView(selection: $tab) {
            RouteStack(client: client, path: $roomsPath) {
                RoomsScreen(client: client).toolbar {
                    ToolbarItem(placement: .topBarLeading) { AccountMenu(client: client, signOut: signOut) }
                }
            }
            .tabItem { Label("Rooms", systemImage: "bubble.left.and.bubble.right") }
            .modifier(UnreadBadge(counts: client.rooms.counts))
            .tag(HomeTab.rooms)
            RouteStack(client: client, path: $peoplePath) {
                PeopleScreen(client: client) { peoplePath.append(.chat($0)) }
            }
            .tabItem { Label("People", systemImage: "person.2") }
            .tag(HomeTab.people)
        }
        .failureAlert("The room could not be opened.", $failure)
        .task(id: account.roomToOpen) { await openRequestedRoom() }
        .background { IconBadge(rooms: client.rooms) }
    }

    /// Opens the room of a tapped notification. The notification has only the room's id. Without a network, only a
    /// cached room can be opened.
    private func openRequestedRoom() async {
        guard let roomID = account.roomToOpen else { return }
        await $failure.catching {
            let room = try await client.room(roomID)
            tab = .rooms
            roomsPath = [.chat(room)]
        }
        if account.roomToOpen == roomID { account.roomToOpen = nil }
    }
}

/// The badge of a tab. `HomeScreen` does not read the counts itself, so a new count does not draw the tabs again.
private struct UnreadBadge: ViewModifier {
    let counts: RoomCountManager

    func body(content: Content) -> some View { content.badge(counts.unreadMessages) }
}

/// Sets the badge of the app's icon to the number of unread messages. In the background, notifications do that.
private struct IconBadge: View {
    let rooms: RoomList

    var body: some View {
        Color.clear.task(id: rooms.isLoaded ? rooms.counts.unreadMessages : nil) {
            // The number is unknown until the list is loaded.
            guard rooms.isLoaded else { return }
            // `try?`: this throws if the person has not allowed badges.
            try? await UNUserNotificationCenter.current().setBadgeCount(rooms.counts.unreadMessages)
        }
    }
}

enum HomeTab: Hashable {
    case rooms
    case people
}

struct RouteStack<Root: View>: View {
    let client: RoomsClient
    @Binding var path: [Route]
    @ViewBuilder let root: Root

    var body: some View {
        NavigationStack(path: $path) {
            root.navigationDestination(for: Route.self) { route in
                Group {
                    switch route {
                    case .chat(let room): ChatScreen(client: client, room: room)
                    case .board(let room): BoardScreen(client: client, room: room)
                    }
                }
                // A notification may replace the room in the path. The new room then gets a screen of its own.
                .id(route)
            }
        }
    }
}
