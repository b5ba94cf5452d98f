import RoomsClient
import SwiftUI
import UserNotifications

/// The tabs, each with its own way from a list to a room.
struct HomeScreen: View {
    let account: Account
    let client: RoomsClient
    @State private var tab = HomeTab.rooms
    @State private var roomsPath: [Route] = []
    @State private var peoplePath: [Route] = []
    @State private var failure: String?

    var body: some View {
        TabView(selection: $tab) {
            RouteStack(client: client, path: $roomsPath) {
                RoomsScreen(client: client).toolbar {
                    ToolbarItem(placement: .topBarLeading) { AccountMenu(account: account, client: client) }
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

    /// A notification has the room's id alone, and the list may not have the room yet.
    private func openRequestedRoom() async {
        guard let roomID = account.roomToOpen else { return }
        await $failure.catching {
            let room = if let known = client.rooms[roomID] { known } else { try await client.api.room(roomID).room }
            tab = .rooms
            roomsPath = [.chat(room)]
        }
        if account.roomToOpen == roomID { account.roomToOpen = nil }
    }
}

/// The tab's badge. It reads the counts, so that the tabs need not.
private struct UnreadBadge: ViewModifier {
    let counts: RoomCountManager

    func body(content: Content) -> some View { content.badge(counts.unreadMessages) }
}

/// Keeps the badge of the app's icon at the number of unread messages, as notifications do while the app is away.
private struct IconBadge: View {
    let rooms: RoomList

    var body: some View {
        Color.clear.task(id: rooms.isLoaded ? rooms.counts.unreadMessages : nil) {
            // Until the list is loaded nobody knows the number.
            guard rooms.isLoaded else { return }
            // Refused where the person has not allowed badges.
            try? await UNUserNotificationCenter.current().setBadgeCount(rooms.counts.unreadMessages)
        }
    }
}

enum HomeTab: Hashable {
    case rooms
    case people
}

/// What a list leads to. The room is as it was when it was tapped: screens show the list's, which is live.
enum Route: Hashable {
    case chat(Room)
    case board(Room)
}

struct RouteStack<Root: View>: View {
    let client: RoomsClient
    @Binding var path: [Route]
    @ViewBuilder let root: Root

    var body: some View {
        NavigationStack(path: $path) {
            root.navigationDestination(for: Route.self) { route in
                switch route {
                case .chat(let room): ChatScreen(client: client, room: room)
                case .board(let room): BoardScreen(client: client, room: room)
                }
            }
        }
    }
}
