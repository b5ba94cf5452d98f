import ParlorClient

/// Reports visible messages to the conversation, which marks them as read after half a second.
///
/// Rows report when they become visible. The area passes their reports on only while `isShown` is true. So messages are
/// not read while another screen or the lock screen covers them.
@MainActor
final class ReadingArea {
    private let conversation: Conversation
    private var items: [MessageItem.ID: MessageItem] = [:]

    init(_ conversation: Conversation) { self.conversation = conversation }

    /// True while the person can see the chat.
    var isShown = false {
        didSet { if isShown != oldValue { conversation.setVisible(isShown ? Array(items.values) : []) } }
    }

    func appeared(_ item: MessageItem) {
        items[item.id] = item
        if isShown { conversation.noteVisible([item]) }
    }

    func disappeared(_ item: MessageItem) {
        items[item.id] = nil
        conversation.noteHidden([item])
    }
}
