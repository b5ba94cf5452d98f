/// The content of a notification about a message.
public struct NotificationContent: Hashable, Sendable {
    /// Where the content comes from.
    public enum Origin: Hashable, Sendable {
        /// The content is the server's answer.
        case server(Message, Room)
        /// The content is the payload's, because the message has been deleted since. An app with the entitlement to
        /// filter notifications can show nothing instead.
        case deleted
        /// The content is the payload's, because the message or its room could not be fetched.
        case payload(ClientFailure)
    }

    /// The sender, and the room's name if it has one, such as `Ada · Kitchen`. If nil, keep what the system shows.
    public var title: String?
    /// The message's text. If nil, keep what the system shows.
    public var body: String?
    /// The number for the app's icon: all unread messages at the time of the notification. If nil, keep the old number.
    public var badge: Int?
    /// The room's id, by which the system groups notifications.
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
