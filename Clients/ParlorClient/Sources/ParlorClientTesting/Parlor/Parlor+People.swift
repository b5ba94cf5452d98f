import ParlorClient

// Changes of groups' people.
extension Parlor {
    /// Adds people: `{userIds}`.
    mutating func addPeople(_ fields: JSON, to roomID: String?, by userID: String) throws(Refused) -> Answer {
        let ids = try fields.strings("userIds", count: 1...RoomState.maxParticipants - 1)
        var room = try rooms.room(roomID, of: userID)
        try room.requireOwner(userID)
        let added = try room.add(try accounts.people(ids), &numbers)
        rooms.all[room.id] = room
        guard !added.isEmpty else { return Answer(200, json(room, for: userID)) }
        let created = added.map { person -> Effect in
            .emit("room:created", ["room": json(room, for: person.id, isShort: true)], to: .person(person.id))
        }
        apply(added.map { room.joined($0, by: userID) } + created + [room.changed(by: userID)], in: room.id)
        return Answer(200, json(room, for: userID))
    }

    /// Removes a person, or lets the caller leave: `{userId}`. With the last person, the room is deleted.
    mutating func removePerson(_ fields: JSON, from roomID: String?, by userID: String) throws(Refused) -> Answer {
        let personID = try fields.required("userId")
        var room = try rooms.room(roomID, of: userID)
        if personID == userID { try room.requireGroup() } else { try room.requireOwner(userID) }
        guard room.participant(personID) != nil else { throw .notFound("user") }
        gateway.end(personID, in: room.id)
        let effects = room.remove(personID, by: userID, &numbers)
        rooms.all[room.id] = room.participants.isEmpty ? nil : room
        apply(effects, in: room.id)
        let data: JSON = [
            "roomId": .string(room.id), "removedBy": .optional(personID == userID ? nil : userID),
        ]
        // It belongs to no room of the person any more, and is replayed all the same.
        apply([.emit("room:removed", data, to: .person(personID))], in: "")
        return Answer(204)
    }

    /// Gives a person another role: `{userId, role}`.
    mutating func setRole(_ fields: JSON, in roomID: String?, by userID: String) throws(Refused) -> Answer {
        let personID = try fields.required("userId")
        guard let role = Room.Participant.Role(rawValue: try fields.required("role")) else {
            throw .invalid("role", "has to be owner or member")
        }
        var room = try rooms.room(roomID, of: userID)
        try room.requireOwner(userID)
        let effects = try room.setRole(role, of: personID, by: userID, &numbers)
        rooms.all[room.id] = room
        apply(effects, in: room.id)
        return Answer(200, json(room, for: userID))
    }
}
