import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let createRoom = RequestDescription(
        "Creates a room: a direct one with another person, even if the two already share rooms, or a group.",
        takes: Rooms.newRoom, gives: .room, statuses: [.created, .ok],
        errors: [.userNotFound, .roomNotFound, .invalidField])
}

extension EventDescription {
    static let roomCreated = EventDescription(
        "room:created", to: .person, "A room with this person was created.", .object(["room": .room]))
    static let roomCreatedGlobal = EventDescription(
        "room:created:global", to: .everyone, "A room was created.", .object(["roomId": .id, "createdBy": .id]))
}

extension Rooms {
    private enum Creation: Sendable {
        case created(Room, seq: Int)
        case repeated(Room)
    }

    fileprivate static let newRoom = Fields(
        .optional(.string("otherUserId", note: "Creates a direct room; not with `participantIds`.")),
        .optional(.strings("participantIds", count: 1...Groups.maxParticipants - 1)),
        .optional(RoomName.field, or: nil),
        .optional(.key("clientRequestId", note: "The creator's idempotency key, kept for ever.")))

    /// Creates a room, even if the two share others. A repeated `clientRequestId` returns the room that it created,
    /// whatever else the request contains, and emits nothing.
    func createRoom(_ request: Request, unless older: OlderPrograms) async throws -> Reply {
        let caller = try request.caller
        let (otherID, participantIDs, name, key) = try Self.newRoom.read(request.fields)
        let kind: RoomKind = participantIDs == nil ? .direct : .group
        let others = try Self.others(otherID, participantIDs, of: caller.id)
        if let key, let room = try await database.read({ try RoomsStore($0).room(madeBy: caller.id, key) }) {
            return Reply(.ok, room.json, isDuplicate: true)
        }
        if kind == .group { try await older.requireNone() }
        let people = try await known(others, with: caller, request.onward())
        let answered = try await requireAnswers(to: caller.id, by: others, request.onward())

        let creation = try await database.write { [clock, ids, quota] connection -> Creation in
            let store = RoomsStore(connection)
            // Check again: the same request may have arrived twice at once.
            if let key, let room = try store.room(madeBy: caller.id, key) {
                return .repeated(room)
            }
            let now = clock.now()
            try quota.take(
                others, by: caller.id, answered: answered, isGroup: kind == .group, at: now, on: connection)
            let room = Room(
                id: ids.next(at: now.milliseconds), name: name, createdBy: caller.id, createdAt: now, updatedAt: now,
                kind: kind,
                participants: people.map {
                    Participant(
                        userID: $0.id, username: $0.username, firstName: $0.firstName, joinedAt: now,
                        role: $0.id == caller.id ? .owner : .member)
                })
            let renamed = try store.updateNames(of: people)
            try store.insert(room, key: key)
            for personID in renamed { try Self.logNewName(of: personID, at: now, on: connection) }
            let seq = try EventLog.append(
                at: now, roomID: room.id, participants: room.membership.userIDs,
                emissions: Self.emissions(ofCreating: room), fact: .roomCreated, requestID: request.id, on: connection)
            return .created(room, seq: seq)
        }
        return switch creation {
        case .created(let room, let seq): Reply(.created, room.json, position: RoomsService.position(seq))
        case .repeated(let room): Reply(.ok, room.json, isDuplicate: true)
        }
    }

    /// Returns the ids of the others in a new room, in the order given.
    private static func others(
        _ otherID: String?, _ participantIDs: [String]?, of callerID: String
    ) throws(ServiceError) -> [String] {
        switch (otherID, participantIDs) {
        case (.some, .some): throw .invalid("participantIds", "cannot be given together with otherUserId")
        case (nil, nil): throw .missing("otherUserId")
        case (.some(let other), nil):
            guard other.mayBeID else { throw .userNotFound }
            guard other != callerID else { throw .invalid("otherUserId", "has to be someone else's id") }
            return [other]
        case (nil, .some(let ids)):
            var seen: Set<String> = [callerID]
            let others = ids.filter { seen.insert($0).inserted }
            guard !others.isEmpty else { throw .invalid("participantIds", "has to have someone else's id") }
            return others
        }
    }

    /// Checks whether a person may make one more room with other people, or add them to one: of those with whom there are
    /// many rooms already, each must have written. Messaging is asked only about people who have created many rooms with
    /// someone who created none.
    ///
    /// - Returns: the people of whom that is known.
    func requireAnswers(
        to personID: String, by others: [String], _ context: BusContext
    ) async throws -> Set<String> {
        let needed = try await database.read { [quota] connection in
            let store = RoomsStore(connection)
            return try others.compactMap { other -> (id: String, made: RoomQuota.Made, rooms: [String])? in
                let made = try store.made(by: personID, with: other)
                // Refuse what must be refused in any case before another service is asked.
                try quota.check(made, isAnswered: true)
                guard quota.needsAnswer(made) else { return nil }
                let rooms = try store.roomIDs(
                    sharedBy: personID, other, of: nil, after: nil, limit: PageLimits.maxMemberships)
                return (other, made, rooms)
            }
        }
        var answered: Set<String> = []
        for (id, made, rooms) in needed {
            try quota.check(made, isAnswered: try await answers.hasAnswer(by: id, in: rooms, context))
            answered.insert(id)
        }
        return answered
    }

    /// Returns people with the current data of Accounts, in the order given, the caller first. Accounts need not know the
    /// caller: the token may be from another issuer, and contains enough.
    ///
    /// - Throws: `user_not_found` if somebody else is not known.
    private func known(_ others: [String], with caller: Caller, _ context: BusContext) async throws -> [Person] {
        let found = try await people.people([caller.id] + others, asRoommates: false, context)
        let creator =
            found.first { $0.id == caller.id }
            ?? Person(id: caller.id, username: caller.username, firstName: caller.firstName, email: nil)
        return [creator] + (try Self.people(others, among: found))
    }

    /// Returns other people with the current data of Accounts, each once, in the order given.
    func known(_ userIDs: [String], _ context: BusContext) async throws -> [Person] {
        let found = try await people.people(userIDs, asRoommates: false, context)
        var seen: Set<String> = []
        return try Self.people(userIDs.filter { seen.insert($0).inserted }, among: found)
    }

    private static func people(_ ids: [String], among found: [Person]) throws(ServiceError) -> [Person] {
        let byID = Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
        let people = ids.compactMap { byID[$0] }
        guard people.count == ids.count else { throw .userNotFound }
        return people
    }

    /// Appends entries for everyone who shares a room with this person, as their lists of rooms show the name. There is
    /// no event for that: caches of such lists follow the log.
    static func logNewName(of personID: String, at now: Timestamp, on connection: any Connection) throws {
        var last: String?
        repeat {
            let partners = try RoomsStore(connection).partners(
                of: personID, after: last, limit: PageLimits.maxParticipants)
            last = partners.count == PageLimits.maxParticipants ? partners.last : nil
            try EventLog.append(
                at: now, roomID: "", participants: [personID] + partners, emissions: [], on: connection)
        } while last != nil
    }

    private static func emissions(ofCreating room: Room) -> [Emission] {
        let personal = room.participants.map {
            Emission(
                to: .person($0.userID), "room:created", room.json(listedFor: $0.userID), composition: .room)
        }
        let global = JSONWriter.object {
            $0.member("roomId", room.id)
            $0.member("createdBy", room.createdBy)
        }
        return personal + [Emission(to: .everyone, "room:created:global", global)]
    }
}
