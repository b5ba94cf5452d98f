/// What a notification of a message shows.
public struct NotificationContent: Hashable, Sendable {
    /// The source of the content.
    public enum Origin: Hashable, Sendable {
        /// The server's answer.
        case server(Message, Room)
        /// The payload, because the message has been deleted since. An app with the entitlement to filter
        /// notifications shows nothing.
        case deleted
        /// The payload, because the server did not answer.
        case push(ClientFailure)
    }

    /// The sender, and the room's name if it has one: `Ada · Kitchen`. If nil, keep what the system shows.
    public var title: String?
    /// The message's text. If nil, keep what the system shows.
    public var body: String?
    /// The number for the app's icon: all unread messages when the server sent the push. If nil, keep the old
    /// number.
    public var badge: Int?
    /// The room's id. The system groups notifications by it.
    public var threadID: String
    public var origin: Origin

    init(_ message: Message, in room: Room, of pushed: PushedMessage) {
        let sender = message.sender?.displayName ?? pushed.senderName
        let name = room.name.flatMap { name in name.contains { !$0.isWhitespace } ? name : nil }
        title = sender.map { sender in name.map { "\(sender) · \($0)" } ?? sender } ?? room.title()
        body = message.text
        badge = pushed.badge
        threadID = pushed.roomID
        origin = .server(message, room)
    }

    init(_ pushed: PushedMessage, _ origin: Origin) {
        title = pushed.title
        body = pushed.body
        badge = pushed.badge
        threadID = pushed.roomID
        self.origin = origin
    }
}
