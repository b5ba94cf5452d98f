import ParlorContracts
import ParlorJSON
import ParlorServiceKit

extension Messaging {
    private static let lastMessage = Schema.named(
        "LastMessage", .object(["id": .id, "senderId": .id, "text": .string, "createdAt": .time]))

    private static let settings = Schema.named(
        "RoomSettings", .object(["mutedUntil": Schema.string.orNull, "pinned": .boolean, "archived": .boolean]))
    /// The settings of who has set nothing, as everybody so far.
    private static let unset = JSONWriter.object {
        $0.member("mutedUntil", nil as String?)
        $0.member("pinned", false)
        $0.member("archived", false)
    }

    /// The fields that this service adds to a person's rooms.
    static let contribution = FieldContribution<ChatSummary>(
        "messaging.contribute", bytesOfRoom: 288,
        [
            .init(
                Contribution.Field(
                    "messagesUpdatedAt", .time, role: .activity(type: "message", sort: "messages"), zero: .null)
            ) { $0.number($1.updatedAt.milliseconds) },
            .init(Contribution.Field("lastMessage", zero: .null), schema: lastMessage.orNull) { json, summary in
                guard let message = summary.lastMessage else { return json.null() }
                json.object {
                    $0.member("id", message.id)
                    $0.member("senderId", message.senderID)
                    $0.member("text", message.text)
                    $0.member("createdAt", message.createdAt.iso)
                }
            },
            .init(.badge("messages")) { $0.number($1.unread) },
            .init(Contribution.Field("firstUnreadSeq", zero: .null), schema: Schema.integer(from: 1).orNull) {
                if let seq = $1.firstUnreadSeq { $0.number(seq) } else { $0.null() }
            },
            .init(Contribution.Field("settings", zero: unset), schema: settings) { json, _ in json.null() },
        ])
}

/// A room's messages as a list of rooms shows them to one person.
struct ChatSummary: Sendable {
    let updatedAt: Timestamp
    let unread: Int
    let firstUnreadSeq: Int?
    let lastMessage: Message?
}
