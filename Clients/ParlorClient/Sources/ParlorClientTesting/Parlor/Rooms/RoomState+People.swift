import ParlorClient

// The people of a group, who come and go.
extension RoomState {
    static let maxParticipants = 100

    /// - Throws: `direct_room` for what only groups can.
    func requireGroup() throws(Refused) {
        guard kind == .group else {
            throw Refused(
                status: 409, code: "direct_room", message: "The two people of a direct room never change.")
        }
    }

    /// - Throws: `direct_room`, `forbidden`.
    func requireOwner(_ userID: String) throws(Refused) {
        try requireGroup()
        guard participant(userID)?.role == .owner else { throw .forbidden("Only an owner of the group may do that.") }
    }

    /// Adds those people who are not there yet, and returns them.
    mutating func add(_ people: [Person], _ numbers: inout Numbers) throws(Refused) -> [StoredParticipant] {
        let newcomers = people.filter { participant($0.id) == nil }
        guard participants.count + newcomers.count <= Self.maxParticipants else {
            throw .invalid("userIds", "would make more than \(Self.maxParticipants) people")
        }
        guard !newcomers.isEmpty else { return [] }
        let time = numbers.stamp()
        updatedAt = time
        let last = participants.last?.place ?? 0
        let added = newcomers.enumerated().map {
            StoredParticipant(person: $1, joinedAt: time, place: last + 1 + $0, role: .member)
        }
        participants += added
        return added
    }

    /// Removes a person. If the last owner leaves, the first of those who stay becomes owner.
    ///
    /// - Returns: the events for those who stay.
    mutating func remove(_ personID: String, by userID: String, _ numbers: inout Numbers) -> [Effect] {
        participants.removeAll { $0.id == personID }
        _ = see(by: personID)
        guard !participants.isEmpty else { return [] }
        updatedAt = numbers.stamp()
        let data: JSON = [
            "userId": .string(personID), "removedBy": .optional(personID == userID ? nil : userID),
            "updatedAt": .string(WireTime.seconds(updatedAt)),
        ]
        var effects: [Effect] = [.emit("participant:left", data, in: id, to: .room)]
        if !participants.contains(where: { $0.role == .owner }) {
            participants[0].role = .owner
            effects.append(updated(participants[0]))
        }
        return effects + [changed(by: userID)]
    }

    /// Gives a person another role, and returns the events. The role that they have changes nothing.
    mutating func setRole(
        _ role: Room.Participant.Role, of personID: String, by userID: String, _ numbers: inout Numbers
    ) throws(Refused) -> [Effect] {
        guard let index = participants.firstIndex(where: { $0.id == personID }) else { throw .notFound("user") }
        guard participants[index].role != role else { return [] }
        guard role == .owner || participants.contains(where: { $0.role == .owner && $0.id != personID }) else {
            throw .invalid("role", "would leave the group without an owner")
        }
        participants[index].role = role
        updatedAt = numbers.stamp()
        return [updated(participants[index]), changed(by: userID)]
    }

    func joined(_ participant: StoredParticipant, by userID: String) -> Effect {
        let data: JSON = [
            "participant": participant.json(), "addedBy": .string(userID),
            "updatedAt": .string(WireTime.seconds(updatedAt)),
        ]
        return .emit("participant:joined", data, in: id, to: .room)
    }

    func changed(by userID: String) -> Effect {
        let data: JSON = ["updatedBy": .string(userID), "updatedAt": .string(WireTime.seconds(updatedAt))]
        return .emit("room:updated:global", data, in: id, to: .everyone)
    }

    private func updated(_ participant: StoredParticipant) -> Effect {
        .emit("participant:updated", ["participant": participant.json()], in: id, to: .room)
    }

    // MARK: What is shown

    /// The name, or the first participants.
    var displayName: String {
        if let name { return name }
        let names = participants.prefix(3).map(\.person.displayName).joined(separator: " & ")
        return participants.count > 3 ? "\(names) +\(participants.count - 3)" : names
    }

    /// Returns the first ten participants and a person.
    func listedParticipants(for userID: String) -> [StoredParticipant] {
        participants.prefix(10) + participants.dropFirst(10).filter { $0.id == userID }
    }

    func participants(_ query: Query, present: Set<String>) throws(Refused) -> Answer {
        let limit = try query.limit(standard: 50, max: 200)
        let place = try query.integer("cursor") ?? .min
        let rest = participants.filter { $0.place > place }
        let shown = rest.prefix(limit)
        return Answer(
            200, .array(shown.map { $0.json(isPresent: present.contains($0.id)) }),
            next: .some(rest.count > limit ? shown.last.map { String($0.place) } : nil))
    }
}
