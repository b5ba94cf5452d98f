import Contracts
import JSON

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
