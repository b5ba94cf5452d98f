#if DEBUG
    import ParlorClient
    import SwiftUI

    /// Shows a screen when the rooms of its preview world are loaded.
    struct InPreviewWorld<Content: View>: View {
        @State private var world = PreviewWorld()
        @State private var room: Room?
        @ViewBuilder let content: (PreviewWorld, Room) -> Content

        var body: some View {
            ZStack {
                if let room { content(world, room) } else { ProgressView() }
            }
            .task { room = await world.start() }
        }
    }

    #Preview("Sign in") {
        InPreviewWorld { world, _ in SignInScreen(account: world.account) }
    }

    #Preview("Rooms") {
        InPreviewWorld { world, _ in NavigationStack { RoomsScreen(client: world.client) } }
    }

    #Preview("People") {
        InPreviewWorld { world, _ in NavigationStack { PeopleScreen(client: world.client) { _ in } } }
    }

    #Preview("Chat") {
        InPreviewWorld { world, room in NavigationStack { ChatScreen(client: world.client, room: room) } }
    }

    #Preview("Chat without a network") {
        InPreviewWorld { world, room in
            NavigationStack { ChatScreen(client: world.client, room: room) }
                .onAppear { world.device.setAirplaneMode(true) }
        }
    }

    #Preview("Board") {
        InPreviewWorld { world, room in NavigationStack { BoardScreen(client: world.client, room: room) } }
    }

    #Preview("Name a room") {
        InPreviewWorld { world, room in RoomNameScreen(rooms: world.client.rooms, room: room) }
    }
#endif
