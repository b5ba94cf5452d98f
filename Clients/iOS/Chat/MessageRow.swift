import ParlorClient
import SwiftUI

/// A message. The person's own messages also show their state.
struct MessageRow: View {
    let item: MessageItem
    /// The sender's name; nil for the person's own message.
    let sender: String?
    let isFirstOfDay: Bool
    let isFirstUnread: Bool
    let chat: OpenChat
    let drafts: Drafts
    @Binding var failure: String?
    @Binding var selected: MessageItem?

    private var isOwn: Bool { item.senderID == chat.conversation.ownID }

    var body: some View {
        VStack(alignment: isOwn ? .trailing : .leading, spacing: 4) {
            if isFirstOfDay { DayLine(date: item.createdAt) }
            if isFirstUnread { NewMessagesLine() }
            bubble
            if case .failed(let reason) = item.state {
                FailedMessage(reason: reason, id: item.id, conversation: chat.conversation, drafts: drafts)
            }
        }
        .frame(maxWidth: .infinity, alignment: isOwn ? .trailing : .leading)
        .modifier(ReadWhenVisible(item: item, reading: chat.reading))
    }

    private var bubble: some View {
        VStack(alignment: .trailing, spacing: 2) {
            Text(item.linkedText)
            HStack(spacing: 4) {
                Text(item.createdAt, format: .dateTime.hour().minute())
                if isOwn { DeliveryMark(state: item.state) }
            }
            .font(.caption2)
            .foregroundStyle(.secondary)
        }
        .padding(10)
        .background(isOwn ? Color.accentColor.opacity(0.2) : Color.gray.opacity(0.15), in: .rect(cornerRadius: 14))
        .frame(maxWidth: 320, alignment: isOwn ? .trailing : .leading)
        .opacity(item.state == .queued ? 0.6 : 1)
        .contextMenu {
            Button("Copy", systemImage: "doc.on.doc") { UIPasteboard.general.string = item.text }
            Button("Select text", systemImage: "selection.pin.in.out") { selected = item }
            if isOwn, item.message != nil { DeleteButton(id: item.id, chat: chat, failure: $failure) }
            if item.state == .queued { DiscardButton(id: item.id, conversation: chat.conversation) }
        }
        .accessibilityElement(children: .combine)
        .accessibilityLabel(spoken)
    }

    private var spoken: Text {
        let time = Text(item.createdAt, format: .dateTime.hour().minute())
        guard isOwn else { return Text("\(sender ?? ""): \(item.text), \(time)") }
        return Text("You: \(item.text), \(time), \(DeliveryMark.words(of: item.state))")
    }
}

/// The delivery state of the person's own message.
private struct DeliveryMark: View {
    let state: MessageItem.State

    var body: some View { Image(systemName: symbol).accessibilityLabel(Self.words(of: state)) }

    private var symbol: String {
        switch state {
        case .queued: "clock"
        case .sending: "arrow.up"
        case .stored: "checkmark"
        case .read: "checkmark.circle.fill"
        case .failed: "exclamationmark.circle"
        }
    }

    static func words(of state: MessageItem.State) -> Text {
        switch state {
        case .queued: Text("waiting")
        case .sending: Text("sending")
        case .stored: Text("sent")
        case .read: Text("read")
        case .failed: Text("not sent")
        }
    }
}

/// The reason why a message was not sent, and the buttons to retry, edit or discard it.
private struct FailedMessage: View {
    let reason: SendFailure
    let id: MessageItem.ID
    let conversation: Conversation
    let drafts: Drafts

    var body: some View {
        VStack(alignment: .trailing) {
            FailureLabel(verbatim: reason.sentence)
            HStack {
                Button("Retry", systemImage: "arrow.clockwise") { Task { await conversation.retry(id) } }
                Button("Edit", systemImage: "pencil") { Task { await edit() } }
                DiscardButton(id: id, conversation: conversation)
            }
            .font(.footnote)
            .buttonStyle(.bordered)
        }
    }

    /// Moves the text to the field, above what is there.
    private func edit() async {
        guard let text = await conversation.takeBack(id) else { return }
        let draft = drafts[conversation.roomID]
        drafts[conversation.roomID] = draft.isEmpty ? text : "\(text)\n\(draft)"
        drafts.keepAll()
    }
}

private struct DiscardButton: View {
    let id: MessageItem.ID
    let conversation: Conversation

    var body: some View {
        Button("Discard", systemImage: "trash", role: .destructive) { Task { await conversation.discard(id) } }
    }
}

private struct DeleteButton: View {
    let id: MessageItem.ID
    let chat: OpenChat
    @Binding var failure: String?

    var body: some View {
        Button("Delete for everyone", systemImage: "trash", role: .destructive) {
            Task { await $failure.catching { try await chat.conversation.delete(id) } }
        }
    }
}

/// A message's text, of which a part can be selected. iOS does not offer that in a list's rows.
struct TextToSelect: View {
    let text: String
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        NavigationStack {
            // What is typed here changes nothing.
            TextEditor(text: .constant(text))
                .padding()
                .navigationTitle("Message")
                .navigationBarTitleDisplayMode(.inline)
                .toolbar {
                    ToolbarItem(placement: .confirmationAction) { Button("Done") { dismiss() } }
                }
        }
    }
}

/// The day above its first message. At midnight, "Today" becomes "Yesterday".
private struct DayLine: View {
    let date: Date
    @Environment(\.calendar) private var calendar

    var body: some View {
        TimelineView(.everyMinute) { context in
            words(of: Day(of: date, now: context.date, calendar: calendar))
                .font(.caption.bold())
                .foregroundStyle(.secondary)
                .frame(maxWidth: .infinity)
                .padding(.vertical, 8)
        }
        .accessibilityAddTraits(.isHeader)
    }

    private func words(of day: Day) -> Text {
        switch day {
        case .today: Text("Today")
        case .yesterday: Text("Yesterday")
        case .date(let date): Text(date, format: .dateTime.weekday(.wide).day().month(.wide).year())
        }
    }
}

private struct NewMessagesLine: View {
    var body: some View {
        HStack {
            VStack { Divider() }
            Text("New messages")
                .font(.caption.bold())
                .foregroundStyle(.tint)
            VStack { Divider() }
        }
        .accessibilityAddTraits(.isHeader)
    }
}

/// Notifies the `ReadingArea` when a row becomes visible, and when it is no longer visible.
private struct ReadWhenVisible: ViewModifier {
    let item: MessageItem
    let reading: ReadingArea
    @State private var isVisible = false

    func body(content: Content) -> some View {
        content
            .onGeometryChange(for: Bool.self) { row in
                guard let list = row.bounds(of: .scrollView) else { return true }
                let frame = row.frame(in: .scrollView)
                return ReadingArea.shows(from: frame.minY, to: frame.maxY, ofHeight: list.height)
            } action: { isVisible in
                self.isVisible = isVisible
                report(isVisible)
            }
            // When a screen that covered the rows closes, they appear again, but their visibility has not changed.
            .onAppear { report(isVisible) }
            .onDisappear { report(false) }
    }

    private func report(_ isVisible: Bool) {
        if isVisible { reading.appeared(item) } else { reading.disappeared(item) }
    }
}
