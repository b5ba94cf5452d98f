import ParlorClient
import SwiftUI

/// The text field and the send button. The text is state of this view, so typing does not draw other views again.
struct Composer: View {
    let conversation: Conversation
    @State private var text = ""

    var body: some View {
        HStack(alignment: .bottom) {
            TextField("Message", text: $text, axis: .vertical)
                .lineLimit(1...6)
                .textFieldStyle(.roundedBorder)
                .onChange(of: text) { _, text in
                    if text.isEmpty { conversation.stoppedTyping() } else { conversation.typed() }
                }
            Button("Send", systemImage: "arrow.up.circle.fill") { send() }
                .labelStyle(.iconOnly)
                .font(.title)
                .disabled(text.allSatisfy(\.isWhitespace))
                .keyboardShortcut(.return, modifiers: .command)
        }
        .padding(.horizontal)
        .padding(.vertical, 8)
        .background(.bar)
    }

    private func send() {
        // If the room is gone, the text stays, and the list says why.
        if conversation.send(text) != nil { text = "" }
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
