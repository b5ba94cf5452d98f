import ParlorClient
import SwiftUI

/// The text field and the send button. The text is the room's draft, which is there again on the next visit.
struct Composer: View {
    let conversation: Conversation
    @Bindable var drafts: Drafts

    private var text: String { drafts[conversation.roomID] }

    var body: some View {
        HStack(alignment: .bottom) {
            TextField("Message", text: $drafts[conversation.roomID], axis: .vertical)
                .lineLimit(1...6)
                .textFieldStyle(.roundedBorder)
                .onChange(of: text) { _, text in
                    if text.isEmpty { conversation.stoppedTyping() } else { conversation.typed() }
                }
            RemainingCharacters(count: MessageText.limit - MessageText.count(of: text))
            Button("Send", systemImage: "arrow.up.circle.fill") { send() }
                .labelStyle(.iconOnly)
                .font(.title)
                .disabled(!MessageText.canBeSent(text))
                .keyboardShortcut(.return, modifiers: .command)
        }
        .padding(.horizontal)
        .padding(.vertical, 8)
        .background(.bar)
    }

    private func send() {
        // If the room is gone, the text stays, and the list says why.
        if conversation.send(text) != nil { drafts[conversation.roomID] = "" }
    }
}

/// How many characters fit into the message, if that are few, or how many are too many.
private struct RemainingCharacters: View {
    let count: Int

    var body: some View {
        if count < 400 {
            Text(count, format: .number)
                .font(.caption)
                .monospacedDigit()
                .foregroundStyle(count < 0 ? Color.red : Color.gray)
                .accessibilityLabel(
                    count < 0 ? Text("Too long by \(-count)") : Text("Characters left: \(count)"))
        }
    }
}

/// Shows who is typing. It is a separate view, so that the list is not drawn again when somebody types.
struct TypingLine: View {
    let conversation: Conversation
    let room: Room

    var body: some View {
        let names = conversation.typistIDs.compactMap { room.name(of: $0) }
        if !names.isEmpty {
            Text(names.count == 1 ? "\(names[0]) is typing…" : "\(names.formatted()) are typing…")
                .font(.caption)
                .foregroundStyle(.secondary)
                .frame(maxWidth: .infinity, alignment: .leading)
                .padding(.horizontal)
        }
    }
}
