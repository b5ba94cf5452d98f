import RoomsClient

/// The messages on the screen, and whether anybody can see the screen.
///
/// Rows report when they come and go. The conversation learns of them while the chat is shown and the app is active: what another
/// screen or the lock screen covers is not read.
@MainActor
final class ReadingArea {
    private let conversation: Conversation
    private var items: [MessageItem.ID: MessageItem] = [:]

    init(_ conversation: Conversation) { self.conversation = conversation }

    /// Whether the chat is in front of a person.
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
