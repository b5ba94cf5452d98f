import Contracts
import JSON
import ServiceKit

/// A room as this service knows it: without what others contribute, and the same for everyone in it.
struct Room: Sendable {
    let id: String
    var name: RoomName?
    let createdBy: String
    let createdAt: Timestamp
    /// When this service last changed it. What clients see under this name is later if an element changed since.
    var updatedAt: Timestamp
    /// The creator first.
    var participants: [Participant]

    var membership: Membership { Membership(roomID: id, participants: participants) }

    /// Never empty: for a room without a name, who is in it.
    var displayName: String {
        name?.text ?? participants.map(\.friendlyName).joined(separator: " & ")
    }

    /// Times are milliseconds: the gateway compares them with others' before it writes them.
    func write(to json: inout JSONWriter) {
        json.object {
            $0.member("id", id)
            $0.member("name", name?.text)
            $0.member("displayName", displayName)
            $0.member("createdBy", createdBy)
            $0.member("createdAt", createdAt.milliseconds)
            $0.member("updatedAt", updatedAt.milliseconds)
            $0.member("participants", array: { for participant in participants { participant.write(to: &$0) } })
        }
    }

    var json: JSONValue { JSONWriter.value(reservingCapacity: 512) { write(to: &$0) } }
}

extension Participant {
    /// The first name, unless there is nothing to see in it.
    fileprivate var friendlyName: String {
        guard let firstName, firstName.contains(where: { !$0.isWhitespace }) else { return username }
        return firstName
    }
}

/// A room's name: 1 to 100 characters, trimmed, without control characters. A room that has none has nil.
struct RoomName: Sendable, Equatable {
    let text: String

    /// A line on a phone; what is longer is a message.
    static let maxLength = 100

    /// The field `name`, which has to be there; empty, it clears the name, and so is nil.
    static func required(in fields: RequestFields) throws(ServiceError) -> RoomName? {
        guard let name = try fields.optionalText("name", length: 0...maxLength, trimmed: true) else {
            throw .missing("name")
        }
        return RoomName(stored: name)
    }

    /// The field `name`, which may be missing.
    static func optional(in fields: RequestFields) throws(ServiceError) -> RoomName? {
        fields["name"] == nil ? nil : try required(in: fields)
    }

    /// A stored name; nil for the empty text.
    init?(stored text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// By code points, as it is stored: to Swift's own `==` a composed é and a decomposed one are the same text, and a
    /// change from one to the other would be lost.
    static func == (a: RoomName, b: RoomName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
}
