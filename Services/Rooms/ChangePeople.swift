import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

extension RequestDescription {
    static let addPeople = RequestDescription(
        "Adds people to a group.", takes: Groups.addedPeople, gives: .room,
        errors: [.roomNotFound, .forbidden, .userNotFound, .directRoom, .invalidField])
    static let removePerson = RequestDescription(
        "Removes a person from a group, or leaves it.", takes: Groups.removedPerson,
        errors: [.roomNotFound, .forbidden, .userNotFound, .directRoom])
    static let setRole = RequestDescription(
        "Gives a person in a group another role.", takes: Groups.newRole, gives: .room,
        errors: [.roomNotFound, .forbidden, .userNotFound, .directRoom, .invalidField])
}

/// Changes of a group's people. Each is stored with its rights checked, and answered once it is in effect everywhere
/// (`PeopleChanges`).
struct Groups: Sendable {
    let rooms: Rooms
    let changes: PeopleChanges
    let older: OlderPrograms
    /// The time before a request's deadline at which a change that is not confirmed is answered.
    let margin: Duration

    /// The maximum number of people in a room.
    static let maxParticipants = 100

    private var database: any Database { rooms.database }

    private static let inRoom = Field.id("roomId", orThrow: .roomNotFound)
    fileprivate static let addedPeople = Fields(inRoom, .strings("userIds", count: 1...maxParticipants - 1))
    fileprivate static let removedPerson = Fields(inRoom, .id("userId", orThrow: .userNotFound))
    fileprivate static let newRole = Fields(
        inRoom, .id("userId", orThrow: .userNotFound),
        Field("role", .choice([RoomRole.owner.rawValue, RoomRole.member.rawValue])) {
            fields throws(ServiceError) -> RoomRole in
            guard let role = RoomRole(rawValue: try fields.string("role")) else {
                throw .invalid("role", "has to be owner or member")
            }
            return role
        })

    /// Adds people who are not in the group. If that is not confirmed in time, it is taken back.
    func addPeople(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (roomID, userIDs) = try Self.addedPeople.read(request.fields)
        let added = try await newcomers(userIDs, to: roomID, by: caller, request)
        let answered = try await rooms.requireAnswers(to: caller.id, by: added.map(\.id), request.onward())
        let stored = try await store(request, in: roomID) { [quota = rooms.quota, clock = rooms.clock] draft in
            try draft.requireOwner(caller.id)
            try draft.requireNoChange()
            let newcomers = added.filter { draft.people[$0.id] == nil }
            guard !newcomers.isEmpty else { return .unchanged }
            guard draft.people.count + newcomers.count <= Self.maxParticipants else {
                throw ServiceError.invalid("userIds", "would make more than \(Self.maxParticipants) people")
            }
            let now = clock.now()
            try quota.take(
                newcomers.map(\.id), by: caller.id, answered: answered, isGroup: true, at: now, on: draft.connection)
            try draft.add(newcomers, at: now)
            return .act(PendingChange.Act(kind: .addition, by: caller.id, people: newcomers.map(\.leaver)))
        }
        return try await reply(to: request, after: stored, in: roomID)
    }

    /// Removes a person, also while another change is pending. If it is not confirmed in time, it is completed later, and a
    /// repeated call waits for that.
    func removePerson(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (roomID, userID) = try Self.removedPerson.read(request.fields)
        let stored = try await store(request, in: roomID) { draft in
            if userID == caller.id, let outcome = try draft.resumeRemoval(of: userID) { return outcome }
            try draft.requireParticipant(caller.id)
            if userID != caller.id { try draft.requireOwner(caller.id) }
            guard let person = draft.people[userID] else {
                guard let outcome = try draft.resumeRemoval(of: userID) else { throw ServiceError.userNotFound }
                return outcome
            }
            let heir = try draft.remove(userID)
            return .act(PendingChange.Act(kind: .removal, by: caller.id, people: [person.leaver], heir: heir))
        }
        do {
            if let stored { try await requireSettled(stored, request) }
        } catch {
            try await database.write { try GroupDraft.leaveUnanswered(userID, in: roomID, $0) }
            throw error
        }
        return Reply(.noContent, position: try await position())
    }

    func setRole(_ request: Request) async throws -> Reply {
        let caller = try request.caller
        let (roomID, userID, role) = try Self.newRole.read(request.fields)
        let stored = try await store(request, in: roomID) { draft in
            try draft.requireOwner(caller.id)
            try draft.requireNoChange()
            guard let person = draft.people[userID] else { throw ServiceError.userNotFound }
            guard person.role != role else { return .unchanged }
            if role == .member, draft.owners == [userID] {
                throw ServiceError.invalid("role", "would leave the group without an owner")
            }
            try PendingChangesStore(draft.connection).set(role, of: userID, in: roomID)
            return .act(PendingChange.Act(kind: .role, by: caller.id, people: [person.leaver]))
        }
        return try await reply(to: request, after: stored, in: roomID)
    }

    // MARK: Storing a change

    /// Stores the act of a call. While another change is pending that the call has to wait for, waits, and tries again.
    ///
    /// - Returns: the room's pending change with that act; nil if there was nothing to change.
    private func store(
        _ request: Request, in roomID: String, _ body: @escaping @Sendable (GroupDraft) throws -> GroupDraft.Outcome
    ) async throws -> PendingChange? {
        try await older.requireNone()
        while true {
            let (stored, hasToWait) = try await database.write { connection -> (PendingChange?, Bool) in
                let draft = try GroupDraft(roomID, connection)
                do {
                    switch try body(draft) {
                    case .act(let act): return (try draft.put(act), false)
                    case .isPending: return (draft.pending, false)
                    case .unchanged: return (nil, false)
                    }
                } catch is PendingFirst {
                    return (draft.pending, true)
                }
            }
            guard hasToWait, let stored else { return stored }
            try await requireSettled(stored, request)
        }
    }

    private func requireSettled(_ change: PendingChange, _ request: Request) async throws {
        guard try await changes.settle(change, by: request.deadline - margin) else {
            throw ServiceError.unavailable("A part of this service")
        }
    }

    private func reply(to request: Request, after stored: PendingChange?, in roomID: String) async throws -> Reply {
        if let change = stored {
            let isSettled = try await changes.settle(change, by: request.deadline - margin)
            // It may have become complete since.
            if !isSettled, try await takeBack(change) { throw ServiceError.unavailable("A part of this service") }
        }
        let callerID = try request.caller.id
        return try await database.read { connection in
            let room = try Rooms.room(roomID, on: connection)
            guard room.membership.participant(callerID) != nil else { throw ServiceError.roomNotFound }
            return Reply(.ok, room.json, position: RoomsService.position(try EventLog.head(on: connection)))
        }
    }

    /// Takes back what a pending change has added.
    ///
    /// - Returns: false if the change is complete.
    private func takeBack(_ change: PendingChange) async throws -> Bool {
        let pending = try await database.write { connection -> PendingChange? in
            let store = PendingChangesStore(connection)
            guard var pending = try store.pending(in: change.roomID), pending.has(change),
                let added = change.acts.last?.version
            else { return nil }
            let going = pending.takeBack(added)
            guard !going.isEmpty else { return pending }
            try store.set(.leaving, of: going, in: change.roomID)
            try store.put(pending)
            return pending
        }
        if let pending { changes.supersede(pending) }
        return pending != nil
    }

    /// Returns the position of the newest entry. The change of this request is at it, or before.
    private func position() async throws -> EntryPosition {
        RoomsService.position(try await database.read { try EventLog.head(on: $0) })
    }

    /// Returns the people of these ids who are not in the group, with their current names.
    ///
    /// - Throws: the errors of a caller who may not add people, and `user_not_found`, before other services are asked for
    ///   more.
    private func newcomers(
        _ userIDs: [String], to roomID: String, by caller: Caller, _ request: Request
    ) async throws -> [Person] {
        let present = try await database.read { connection in
            let draft = try GroupDraft(roomID, connection)
            try draft.requireOwner(caller.id)
            return Set(draft.people.keys)
        }
        return try await rooms.known(userIDs, request.onward()).filter { !present.contains($0.id) }
    }
}

extension Person {
    var leaver: PeopleChange.Leaver { PeopleChange.Leaver(userID: id, username: username, firstName: firstName) }
}

extension Participant {
    var leaver: PeopleChange.Leaver { PeopleChange.Leaver(userID: userID, username: username, firstName: firstName) }
}

/// Another change of the room is pending, and has to be complete first.
private struct PendingFirst: Error {}

/// A group whose people are about to change, in a transaction.
private struct GroupDraft {
    enum Outcome {
        case act(PendingChange.Act)
        /// An earlier call stored the act.
        case isPending
        case unchanged
    }

    let roomID: String
    let connection: any Connection
    let pending: PendingChange?
    /// Nil if there is no such room, or the last person is leaving it.
    private let room: Room?
    /// The participants, without those who are joining or leaving.
    let people: [String: Participant]

    init(_ roomID: String, _ connection: any Connection) throws {
        self.roomID = roomID
        self.connection = connection
        room = try RoomsStore(connection).room(roomID)
        pending = try PendingChangesStore(connection).pending(in: roomID)
        people = Dictionary(uniqueKeysWithValues: (room?.participants ?? []).map { ($0.userID, $0) })
    }

    private var participants: [Participant] { room?.participants ?? [] }

    var owners: [String] { participants.filter { $0.role == .owner }.map(\.userID) }

    /// - Throws: `room_not_found`; `direct_room`, as what only groups can concerns no direct room.
    func requireParticipant(_ userID: String) throws {
        guard people[userID] != nil else { throw ServiceError.roomNotFound }
        guard room?.kind == .group else {
            throw ServiceError(.directRoom, "The two people of a direct room never change.")
        }
    }

    /// - Throws: the errors of `requireParticipant`, and `forbidden`.
    func requireOwner(_ userID: String) throws {
        try requireParticipant(userID)
        guard people[userID]?.role == .owner else {
            throw ServiceError(.forbidden, "Only an owner of the group may do that.")
        }
    }

    /// - Throws: `PendingFirst` if there is a pending change.
    func requireNoChange() throws { if pending != nil { throw PendingFirst() } }

    /// Takes the place of a call that has removed a person and was answered before that was complete.
    ///
    /// - Returns: nil if the person is not being removed.
    /// - Throws: `PendingFirst` if that call still waits.
    func resumeRemoval(of userID: String) throws -> Outcome? {
        guard var pending, let index = pending.removal(of: userID) else { return nil }
        guard pending.acts[index].isUnanswered else { throw PendingFirst() }
        pending.acts[index].isUnanswered = false
        try PendingChangesStore(connection).put(pending)
        return .isPending
    }

    /// Notes that the call that removes a person is answered before that is complete.
    static func leaveUnanswered(_ userID: String, in roomID: String, _ connection: any Connection) throws {
        let store = PendingChangesStore(connection)
        guard var pending = try store.pending(in: roomID), let index = pending.removal(of: userID) else { return }
        pending.acts[index].isUnanswered = true
        try store.put(pending)
    }

    func add(_ newcomers: [Person], at now: Timestamp) throws {
        for renamed in try RoomsStore(connection).updateNames(of: newcomers) {
            try Rooms.logNewName(of: renamed, at: now, on: connection)
        }
        try PendingChangesStore(connection).add(newcomers, to: roomID, at: now)
    }

    /// Marks a participant as leaving.
    ///
    /// - Returns: who becomes owner, if the last one leaves: the first of those who stay.
    func remove(_ userID: String) throws -> String? {
        let store = PendingChangesStore(connection)
        try store.set(.leaving, of: [userID], in: roomID)
        let staying = participants.filter { $0.userID != userID }
        guard let first = staying.first, !staying.contains(where: { $0.role == .owner }) else { return nil }
        try store.set(.owner, of: first.userID, in: roomID)
        return first.userID
    }

    /// Stores an act, after those of the pending change.
    func put(_ act: PendingChange.Act) throws -> PendingChange {
        var act = act
        let version = try RoomsStore(connection).version(of: roomID) + 1
        act.version = version
        let change = PendingChange(roomID: roomID, version: version, acts: (pending?.acts ?? []) + [act])
        try PendingChangesStore(connection).put(change)
        return change
    }
}
