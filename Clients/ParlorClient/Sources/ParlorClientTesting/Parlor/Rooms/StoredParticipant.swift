import ParlorClient

/// A participant of a room. Times are milliseconds since 1970.
struct StoredParticipant: Sendable {
    let person: Person
    let joinedAt: Int
    /// A number that rises with each person who comes.
    let place: Int
    var role: Room.Participant.Role

    var id: String { person.id }

    /// - Parameter isPresent: nil in events.
    func json(isPresent: Bool? = nil) -> JSON {
        let json: JSON = [
            "userId": .string(id), "username": .string(person.username), "firstName": .optional(person.firstName),
            "joinedAt": .string(WireTime.seconds(joinedAt)), "role": .string(role.rawValue),
        ]
        return isPresent.map { json.adding(["isPresent": .bool($0)]) } ?? json
    }
}
