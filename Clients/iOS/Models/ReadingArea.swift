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

    /// Returns true if enough of a row is visible to read it: half of the row or, if it is higher than the list, half of
    /// the list.
    ///
    /// - Parameters:
    ///   - top: the row's upper edge, below the list's. A negative number is above it.
    ///   - bottom: the row's lower edge.
    ///   - height: the list's height.
    nonisolated static func shows(from top: Double, to bottom: Double, ofHeight height: Double) -> Bool {
        let visible = min(bottom, height) - max(top, 0)
        return visible > 0 && visible >= min(bottom - top, height) / 2
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
