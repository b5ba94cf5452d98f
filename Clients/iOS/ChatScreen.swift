import RoomsClient
import SwiftUI

/// One room's messages. From a push there is its id alone.
struct ChatScreen: View {
    let client: RoomsClient
    let roomID: String
    @State private var conversation: Conversation?
    @State private var text = ""
    @State private var isNaming = false
    @State private var failure: ClientFailure?

    var body: some View {
        VStack {
            ConnectionBanner(client: client)
            if let conversation {
                MessageList(client: client, conversation: conversation)
                Text(typing(in: conversation)).font(.caption)
                TextField("Message", text: $text)
                    .onChange(of: text) {
                        if text.isEmpty { conversation.stoppedTyping() } else { conversation.typed() }
                    }
                    .onSubmit { if conversation.send(text) != nil { text = "" } }
            } else {
                ProgressView()
            }
        }
        .navigationTitle(client.rooms[roomID]?.title() ?? "")
        .toolbar {
            Button("Name this room", systemImage: "pencil") { isNaming = true }
            NavigationLink(value: Route.board(roomID)) { Image(systemName: "square.grid.2x2") }
        }
        .sheet(isPresented: $isNaming) { NamingView(client: client, roomID: roomID) { isNaming = false } }
        .failureAlert($failure)
        .task(id: roomID) {
            do { conversation = try await client.open(roomID: roomID) } catch { failure = error as? ClientFailure }
        }
        .onDisappear { if let conversation { Task { await client.close(conversation) } } }
    }

    private func typing(in conversation: Conversation) -> String {
        let people = client.rooms[roomID]?.participants ?? []
        let names = conversation.typistIDs.compactMap { id in people.first { $0.userId == id }?.displayName }
        return names.isEmpty ? "" : names.joined(separator: ", ") + " …"
    }
}

/// The rows keep their identity from the first key to the last receipt. So nothing here is built anew by `id(_:)`, and the place that
/// one has scrolled to stays.
struct MessageList: View {
    let client: RoomsClient
    let conversation: Conversation

    var body: some View {
        ScrollViewReader { scroll in
            ScrollView {
                LazyVStack {
                    if conversation.hasOlder { ProgressView().task { await conversation.loadOlder() } }
                    ForEach(conversation.items) { item in
                        VStack {
                            if item.id == conversation.firstUnread { Text("New").font(.caption) }
                            MessageRow(item: item, isOwn: item.senderID == client.user.id, conversation: conversation)
                        }
                        .onAppear { conversation.noteVisible([item]) }
                        .onDisappear { conversation.noteHidden([item]) }
                    }
                }
            }
            .onChange(of: conversation.firstUnread, initial: true) {
                if let first = conversation.firstUnread { scroll.scrollTo(first) }
            }
        }
        .toolbar {
            Button("Mark all as read", systemImage: "checkmark") { Task { try? await conversation.markAllRead() } }
        }
    }
}

struct MessageRow: View {
    let item: MessageItem
    let isOwn: Bool
    let conversation: Conversation

    var body: some View {
        HStack {
            Text(item.text)
            if isOwn {
                switch item.state {
                case .queued, .sent: Image(systemName: "clock")
                case .stored: Image(systemName: "checkmark")
                case .read: Image(systemName: "checkmark.circle")
                case .failed(let failure): Button(failure.message) { Task { await conversation.retry(item.id) } }
                }
            }
        }
    }
}

struct ChatScreen_Previews: PreviewProvider {
    static var previews: some View {
        NavigationStack { ChatScreen(client: PreviewClient.client, roomID: PreviewClient.roomID) }
    }
}
