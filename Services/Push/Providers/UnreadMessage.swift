import ParlorJSON

/// An unread message, as messaging answers.
struct UnreadMessage: Sendable {
    let text: String
    /// The message's number in its room, and its sender; nil if messaging is of an earlier release.
    var seq: Int?
    var senderID: String?
}

extension UnreadMessage {
    /// nil if the message was read or deleted.
    init?(_ json: JSONValue) {
        guard let text = json["text"]?.string else { return nil }
        self.init(text: text, seq: json["seq"]?.int, senderID: json["senderId"]?.string)
    }
}
