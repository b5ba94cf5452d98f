import ParlorClient

/// A change of a room that clients can request both over a socket and over HTTP. The raw value is the socket's event.
enum RoomChange: String {
    case send = "message:send"
    case deleteMessage = "message:delete"
    case markRead = "messages:mark-read"
    case createElement = "element:create"
    case updateElement = "element:update"
    case deleteElement = "element:delete"
    case clear = "room:clear"

    init(event: String) throws(Refused) {
        guard let change = Self(rawValue: event) else { throw .malformed("There is no event \(event).") }
        self = change
    }

    /// Returns the ack's members.
    func ack(_ answer: Answer) -> JSON {
        let members: JSON =
            switch self {
            case .send:
                [
                    "message": answer.data, "messageId": answer.data["id"] ?? .null,
                    "seq": answer.data["seq"] ?? .null, "createdAt": answer.data["createdAt"] ?? .null,
                ]
            case .createElement, .updateElement: ["element": answer.data]
            case .markRead, .clear: answer.data
            case .deleteMessage, .deleteElement: [:]
            }
        return answer.isDuplicate ? members.adding(["duplicate": .bool(true)]) : members
    }
}
