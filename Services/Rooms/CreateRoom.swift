import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let createRoom = RequestDescription(
        "Creates a room with another person, even if the two already share rooms.",
        takes: Rooms.newRoom, gives: .room, statuses: [.created, .ok], errors: [.userNotFound, .invalidField])
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
        /// Another room was created meanwhile, and the limit of unanswered rooms is reached: ask Messaging for an
        /// answer first.
        case needsAnswer
    }

    fileprivate static let newRoom = Fields(
        .id("otherUserId", orThrow: .userNotFound), .optional(RoomName.field, or: nil),
        .optional(.key("clientRequestId", note: "The creator's idempotency key, kept for ever.")))

    /// Creates a room, even if the two share others. A repeated `clientRequestId` returns the room that it created,
    /// whatever else the request contains, and emits nothing.
    func createRoom(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (otherID, name, key) = try Self.newRoom.read(request.fields)
        guard otherID != caller.id else { throw ServiceError.invalid("otherUserId", "has to be someone else's id") }
        if let key, let room = try await database.read({ try RoomsStore($0).room(madeBy: caller.id, key) }) {
            return Reply(.ok, room.json, isDuplicate: true)
        }
        let people = try await people(of: caller, and: otherID, request.onward())
        let isAnswered = try await isAnswered(caller.id, by: otherID, request.onward())

        let creation = try await database.write { [clock, ids, quota] connection -> Creation in
            let store = RoomsStore(connection)
            // Check again: the same request may have arrived twice at once.
            if let key, let room = try store.room(madeBy: caller.id, key) {
                return .repeated(room)
            }
            let made = try store.made(by: caller.id, with: otherID)
            if isAnswered == nil, quota.needsAnswer(made) { return .needsAnswer }
            try quota.check(made, isAnswered: isAnswered ?? true)
            let now = clock.now()
            let room = Room(
                id: ids.next(at: now.milliseconds), name: name, createdBy: caller.id, createdAt: now, updatedAt: now,
                participants: people.map {
                    Participant(
                        userID: $0.id, username: $0.username, firstName: $0.firstName, joinedAt: now,
                        role: $0.id == caller.id ? .owner : .member)
                })
            for renamed in try store.insert(room, key: key) {
                try Self.logNewName(of: renamed, in: room, on: connection)
            }
            let seq = try EventLog.append(
                at: now, roomID: room.id, participants: room.membership.userIDs,
                emissions: Self.emissions(ofCreating: room), fact: .roomCreated, requestID: request.id, on: connection)
            return .created(room, seq: seq)
        }
        return switch creation {
        case .created(let room, let seq): Reply(.created, room.json, position: RoomsService.position(seq))
        case .repeated(let room): Reply(.ok, room.json, isDuplicate: true)
        // Try again. Counts never fall, so this time Messaging is asked for an answer, and this case cannot occur
        // again.
        case .needsAnswer: try await createRoom(request)
        }
    }

    /// Returns whether the other person has written to a person who creates a room with them.
    ///
    /// - Returns: nil if that does not matter. Messaging is asked only about people who have created many
    ///   rooms with someone who created none.
    private func isAnswered(_ personID: String, by otherID: String, _ context: BusContext) async throws -> Bool? {
        let roomIDs = try await database.read { [quota] connection -> [String]? in
            let store = RoomsStore(connection)
            let made = try store.made(by: personID, with: otherID)
            // Refuse what must be refused in any case before another service is asked.
            try quota.check(made, isAnswered: true)
            guard quota.needsAnswer(made) else { return nil }
            return try store.roomIDs(sharedBy: personID, otherID, after: nil, limit: PageLimits.maxMemberships)
        }
        guard let roomIDs else { return nil }
        return try await answers.hasAnswer(to: personID, in: roomIDs, context)
    }

    /// Returns the two people with the current data of Accounts, the caller first. Accounts need not know the
    /// caller: the token may be from another issuer, and contains enough.
    private func people(of caller: Caller, and otherID: String, _ context: BusContext) async throws -> [Person] {
        let known = try await people.people([caller.id, otherID], asRoommates: false, context)
        guard let other = known.first(where: { $0.id == otherID }) else { throw ServiceError.userNotFound }
        let creator =
            known.first { $0.id == caller.id }
            ?? Person(id: caller.id, username: caller.username, firstName: caller.firstName, email: nil)
        return [creator, other]
    }

    /// Appends entries for everyone who shares a room with this person, as their lists of rooms show the name. There is
    /// no event for that: caches of such lists follow the log.
    private static func logNewName(of personID: String, in room: Room, on connection: any Connection) throws {
        var last: String?
        repeat {
            let partners = try RoomsStore(connection).partners(
                of: personID, after: last, limit: PageLimits.maxParticipants)
            last = partners.count == PageLimits.maxParticipants ? partners.last : nil
            try EventLog.append(
                at: room.createdAt, roomID: "", participants: [personID] + partners, emissions: [], on: connection)
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
