import ParlorClient
import SwiftUI

/// A room's chat. The room is open while this screen is visible.
struct ChatScreen: View {
    let client: RoomsClient
    let room: Room
    @State private var opened: OpenRoom?
    @State private var chat: OpenChat?
    @State private var isNaming = false
    @State private var failure: String?
    /// The message of whose text the person selects a part.
    @State private var selected: MessageItem?
    @Environment(\.scenePhase) private var phase
    @Environment(RoomNotifications.self) private var notifications: RoomNotifications?

    var body: some View {
        ZStack {
            if let chat {
                VStack(spacing: 0) {
                    // The identity changes with the conversation, so a newly opened one has its own scroll position.
                    MessageList(chat: chat, room: room, drafts: client.drafts, failure: $failure, selected: $selected)
                        .id(ObjectIdentifier(chat.conversation))
                    TypingLine(conversation: chat.conversation, room: room)
                    Composer(conversation: chat.conversation, drafts: client.drafts)
                }
            }
        }
        .connectionLine(client)
        .navigationBarTitleDisplayMode(.inline)
        .toolbar {
            ToolbarItem(placement: .principal) {
                ChatTitle(client: client, room: room) { isNaming = true }
            }
            ToolbarItem(placement: .topBarTrailing) {
                NavigationLink(value: Route.board(room)) { Label("Board", systemImage: "square.grid.2x2") }
            }
            ToolbarItem(placement: .topBarTrailing) {
                if let chat { MarkAllReadButton(counts: client.rooms.counts, chat: chat, failure: $failure) }
            }
        }
        .sheet(isPresented: $isNaming) { RoomNameScreen(rooms: client.rooms, room: client.rooms[room.id] ?? room) }
        .sheet(item: $selected) { TextToSelect(text: $0.text) }
        .failureAlert("This did not work.", $failure)
        .onAppear { appear() }
        .onDisappear { disappear() }
        .onChange(of: isRead) { _, isRead in
            chat?.reading.isShown = isRead
            if isRead { notifications?.noteShown(room.id) } else { notifications?.noteHidden(room.id) }
        }
    }

    /// True while neither another screen, a sheet nor the lock screen covers the messages.
    private var isRead: Bool { opened != nil && phase == .active && !isNaming && selected == nil }

    private func appear() {
        let room = client.open(room)
        opened = room
        guard chat?.conversation !== room.conversation else { return }
        let opened = OpenChat(room.conversation)
        opened.reading.isShown = phase == .active
        chat = opened
    }

    /// Closes the room. This also happens when the board covers the chat; the board keeps the room open.
    private func disappear() {
        opened = nil
        notifications?.noteHidden(room.id)
    }
}

/// An open conversation and its visible messages.
struct OpenChat {
    let conversation: Conversation
    let reading: ReadingArea

    @MainActor
    init(_ conversation: Conversation) {
        self.conversation = conversation
        reading = ReadingArea(conversation)
    }
}

/// The room's name, and whether the other person has the room open. A tap renames the room.
private struct ChatTitle: View {
    let client: RoomsClient
    let room: Room
    let rename: () -> Void

    var body: some View {
        // The list has the current name and presence; `room` may be outdated.
        let room = client.rooms[room.id] ?? room
        Button {
            rename()
        } label: {
            VStack {
                if let name = room.visibleName {
                    Text(name).font(.headline).lineLimit(1)
                } else {
                    Text("Name this room").font(.headline)
                }
                presence(in: room)
                    .font(.caption)
                    .foregroundStyle(.secondary)
            }
        }
        .buttonStyle(.plain)
        .accessibilityHint("Changes the room's name")
    }

    private func presence(in room: Room) -> Text {
        let ownID = client.user.id
        let others = room.others(besides: ownID)
        // Without a connection it is not known who is here, and in a group several may be.
        if client.connection != .connected || room.kind == .group { return Text(others) }
        return room.isVisited(besides: ownID) ? Text("\(others) is here") : Text("\(others) is away")
    }
}

/// A button that marks all messages as read, including those that are not loaded. It is hidden if none is unread.
private struct MarkAllReadButton: View {
    let counts: RoomCountManager
    let chat: OpenChat
    @Binding var failure: String?
    @State private var isWaiting = false

    var body: some View {
        if counts[chat.conversation.roomID].unreadMessages > 0 {
            Button("Mark all as read", systemImage: "checkmark.message") { Task { await markAllRead() } }
                .disabled(isWaiting)
        }
    }

    private func markAllRead() async {
        isWaiting = true
        defer { isWaiting = false }
        await $failure.catching { try await chat.conversation.markAllRead() }
    }
}
