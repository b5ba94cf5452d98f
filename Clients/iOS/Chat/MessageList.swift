import ParlorClient
import SwiftUI

/// The messages, with the newest at the bottom. The list opens at the first unread message.
///
/// A row has the identity of its item, which stays the same when the server stores a pending message. So a new message,
/// a receipt or an older page updates only the rows that differ, and the scroll position stays.
struct MessageList: View {
    let chat: OpenChat
    let room: Room
    let drafts: Drafts
    @Binding var failure: String?
    @Binding var selected: MessageItem?
    @Environment(\.calendar) private var calendar

    private var conversation: Conversation { chat.conversation }

    var body: some View {
        ScrollViewReader { list in
            ScrollView {
                LazyVStack(spacing: 8) {
                    EarlierMessages(conversation: conversation, list: list)
                    ForEach(DatedMessages(items: conversation.items, calendar: calendar)) { message in
                        MessageRow(
                            item: message.item, sender: sender(of: message.item), isFirstOfDay: message.isFirstOfDay,
                            isFirstUnread: message.id == conversation.firstUnread, chat: chat, drafts: drafts,
                            failure: $failure, selected: $selected)
                    }
                }
                .padding()
            }
            .defaultScrollAnchor(.bottom)
            .scrollDismissesKeyboard(.interactively)
            .overlay { EmptyChat(conversation: conversation) }
            .safeAreaInset(edge: .top) { ChatFailure(conversation: conversation) }
            .onChange(of: conversation.firstUnread, initial: true) { _, first in
                if let first { list.scrollTo(first, anchor: .top) }
            }
            .onChange(of: conversation.items.last?.id) { follow(list) }
        }
    }

    private func sender(of item: MessageItem) -> String? {
        // Who has left the room is no participant.
        item.senderID == conversation.ownID ? nil : room.name(of: item.senderID) ?? item.message?.sender?.displayName
    }

    /// Scrolls to a message that the person has just sent. For messages of others, the scroll anchor keeps the list at
    /// the bottom if it is there already.
    private func follow(_ list: ScrollViewProxy) {
        guard let last = conversation.items.last, last.message == nil else { return }
        withAnimation { list.scrollTo(last.id, anchor: .bottom) }
    }
}

/// A button that loads older messages. The list then stays at the message that was the first before.
private struct EarlierMessages: View {
    let conversation: Conversation
    let list: ScrollViewProxy

    private var isLoading: Bool { conversation.isLoadingOlder || conversation.isLoading }

    var body: some View {
        if conversation.hasOlder {
            Button {
                Task { await load() }
            } label: {
                if isLoading { ProgressView() } else { Text("Load earlier messages") }
            }
            .disabled(isLoading)
            .frame(minHeight: 44)
        }
    }

    private func load() async {
        let first = conversation.items.first?.id
        // Older messages continue from the newest page. If that could not be fetched, this tries again; without a
        // connection it comes by itself later.
        if !conversation.isVerified, let failure = conversation.failure, !failure.isOffline {
            await conversation.refresh()
        }
        await conversation.loadOlder()
        if let first { list.scrollTo(first, anchor: .top) }
    }
}

/// What an empty chat shows: that it is loading, why it could not be loaded, or an invitation to write.
private struct EmptyChat: View {
    let conversation: Conversation

    var body: some View {
        if conversation.items.isEmpty {
            if let failure = conversation.failure, !conversation.isLoading {
                LoadFailure("Messages could not be loaded.", failure) { await conversation.refresh() }
            } else if conversation.isVerified {
                ContentUnavailableView("Say hello", systemImage: "hand.wave")
            } else {
                ProgressView()
            }
        }
    }
}

/// Why the messages may be incomplete.
private struct ChatFailure: View {
    let conversation: Conversation

    var body: some View {
        if !conversation.items.isEmpty { OutdatedReason(conversation.failure) }
    }
}
