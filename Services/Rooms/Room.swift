import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorText

/// A room in this service: without other services' contributions, and the same for everyone in it.
struct Room: Sendable {
    let id: String
    var name: RoomName?
    let createdBy: String
    let createdAt: Timestamp
    /// The time of the last change in this service. Clients see a later time under this name if an element
    /// changed since.
    var updatedAt: Timestamp
    /// The version of its record.
    var version = 1
    var kind = RoomKind.direct
    var isClosed = false
    /// The participants in the order in which they came, the creator first; of a room in a list only those that it shows.
    var participants: [Participant]
    /// The number of all participants, if `participants` may lack some.
    var countOfAll: Int?

    private var participantCount: Int { countOfAll ?? participants.count }

    var membership: Membership {
        Membership(roomID: id, version: version, kind: kind, isClosed: isClosed, participants: participants)
    }

    /// The displayed name, which is never empty: without a name, it lists the participants.
    var displayName: String {
        if let name { return name.text }
        let names = participants.prefix(Self.namedPeople).map(\.friendlyName).joined(separator: " & ")
        let others = participantCount - Self.namedPeople
        return others > 0 ? "\(names) +\(others)" : names
    }

    /// The number of people whose names are the name of a room without one.
    private static let namedPeople = 3
    /// The number of people that a list shows of a room.
    static let listedPeople = 10

    /// Writes the room with times in milliseconds, as the gateway compares them with those of other services
    /// before it formats them.
    ///
    /// - Parameter viewer: the person in whose list the room is: of many people it shows the first ones and that person;
    ///   nil outside of lists.
    func write(to json: inout JSONWriter, listedFor viewer: String? = nil) {
        var shown = participants
        if let viewer, shown.count > Self.listedPeople {
            shown.removeSubrange(Self.listedPeople...)
            shown += participants.dropFirst(Self.listedPeople).filter { $0.userID == viewer }
        }
        json.object {
            $0.member("id", id)
            $0.member("version", version)
            $0.member("kind", kind.rawValue)
            $0.member("name", name?.text)
            $0.member("displayName", displayName)
            $0.member("createdBy", createdBy)
            $0.member("createdAt", createdAt.milliseconds)
            $0.member("updatedAt", updatedAt.milliseconds)
            $0.member("participantCount", participantCount)
            $0.member("participants", array: { for participant in shown { participant.write(to: &$0) } })
        }
    }

    var json: JSONValue { JSONWriter.value(reservingCapacity: 512) { write(to: &$0) } }

    func json(listedFor viewer: String) -> JSONValue {
        JSONWriter.value(reservingCapacity: 512) { write(to: &$0, listedFor: viewer) }
    }
}

extension Participant {
    /// The first name, or the username if the first name is blank.
    fileprivate var friendlyName: String {
        guard let firstName, !firstName.isBlank else { return username }
        return firstName
    }
}

/// A room's name: 1 to 100 characters, trimmed, without invisible characters but line breaks and tabs: it is the title of
/// notifications, beside other people's texts. A room without a name has nil.
struct RoomName: Sendable, Equatable {
    let text: String

    /// The limit of characters: a line on a phone. A longer text is a message.
    static let maxLength = 100

    /// The field `name`. An empty text clears the name, and so becomes nil.
    static let field = Field("name", Schema.string(0...maxLength).noted("Trimmed; an empty text is no name.")) {
        fields throws(ServiceError) -> RoomName? in
        let name = try fields.text("name", length: 0...maxLength, trimmed: true)
        guard name.isEmpty || !name.isBlank, String(name.filter { !$0.isNewline && $0 != "\t" }).hasOnlyVisibleScalars
        else {
            throw .invalid("name", "has invisible characters in it, or nothing else")
        }
        return RoomName(stored: name)
    }

    /// Creates a name from stored text; nil if it is empty.
    init?(stored text: String) {
        guard !text.isEmpty else { return nil }
        self.text = text
    }

    /// Returns true if the bytes are equal. Swift's own `==` treats a composed and a decomposed é as the same text,
    /// and a change from one to the other would be lost.
    static func == (a: RoomName, b: RoomName) -> Bool { a.text.utf8.elementsEqual(b.text.utf8) }
}
