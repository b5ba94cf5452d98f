import Foundation

/// The payload of a notification about a message.
///
/// It says how things were when the server sent it. ``NotificationLoader`` fetches the current state.
public struct PushedMessage: Codable, Hashable, Sendable {
    public var roomID: String
    public var messageID: String
    /// The message's number in its room; nil from servers that do not send it.
    public var seq: Int?
    public var senderID: String?
    public var senderName: String?
    /// The room's name; nil if it has none, or if the server did not know it when it sent the notification.
    public var roomName: String?
    /// The server's title; nil if the app has its own texts (`PUSH_LOC_KEYS`).
    public var title: String?
    /// The message's text, which may be cut. With `PUSH_PREVIEW=off` it is "New message", or nil if the app has its own
    /// texts.
    public var body: String?
    /// The number for the app's icon: the person's unread messages in all rooms.
    public var badge: Int?

    public init(
        roomID: String, messageID: String, seq: Int? = nil, senderID: String? = nil, senderName: String? = nil,
        roomName: String? = nil, title: String? = nil, body: String? = nil, badge: Int? = nil
    ) {
        self.roomID = roomID
        self.messageID = messageID
        self.seq = seq
        self.senderID = senderID
        self.senderName = senderName
        self.roomName = roomName
        self.title = title
        self.body = body
        self.badge = badge
    }

    /// Reads a payload from `userInfo` of a notification's content.
    ///
    /// A member of the wrong type counts as missing.
    ///
    /// - Returns: nil for a notification that is not about a message.
    public init?(userInfo: [AnyHashable: Any]) {
        func text(_ name: String) -> String? { Self.text(userInfo[name]) }
        guard text("type") ?? "message" == "message", let roomID = text("roomId"), let messageID = text("messageId")
        else { return nil }
        let aps = userInfo["aps"] as? [AnyHashable: Any]
        let alert = aps?["alert"]
        let words = alert as? [AnyHashable: Any]
        self.init(
            roomID: roomID, messageID: messageID, seq: Self.number(userInfo["seq"], from: 1),
            senderID: text("senderId"), senderName: text("senderName"), roomName: text("roomName"),
            title: Self.text(words?["title"]),
            // An alert may be a string, which is then the body.
            body: Self.text(words?["body"]) ?? Self.text(alert), badge: Self.number(aps?["badge"], from: 0))
    }

    /// Reads a payload from JSON, such as `payload` of a webhook, in the same way as ``init(userInfo:)``.
    public init?(payload: Data) {
        // `try?`: data that is not JSON is not a notification about a message.
        guard let object = try? JSONSerialization.jsonObject(with: payload) as? [String: Any] else { return nil }
        self.init(userInfo: object)
    }

    private static func text(_ value: Any?) -> String? {
        guard let text = value as? String, !text.isEmpty else { return nil }
        return text
    }

    private static func number(_ value: Any?, from least: Int) -> Int? {
        guard let number = value as? Int, number >= least else { return nil }
        return number.asCount
    }
}
