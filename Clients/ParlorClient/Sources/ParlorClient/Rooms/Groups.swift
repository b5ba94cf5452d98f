/// The changes of groups: rooms whose people come and go.
///
/// The owners add and remove people, and set roles; everybody may leave. If the last owner leaves, the person who has
/// been there longest becomes owner. Others' changes arrive as events, and change ``RoomList/rooms``.
///
/// The calls throw `ClientFailure` or `CancellationError`. The server refuses with `forbidden` what only owners may do,
/// and with `direct_room` what only groups can. Every call may be repeated if its outcome is unknown.
@MainActor
public struct Groups {
    let list: RoomList
    let server: any RoomServer

    /// Creates a group, whose owner is the person. A repeated call returns the same group as
    /// ``RoomList/makeRoom(with:name:)`` does.
    ///
    /// - Parameter userIDs: 1 to 99 other people.
    public func make(with userIDs: [Person.ID], name: String? = nil) async throws -> Room {
        try await list.make(.init(userIDs: userIDs, kind: .group, name: name)) { [server] requestID in
            try await server.makeGroup(with: userIDs, name: name, requestID: requestID)
        }
    }

    /// Adds people. They see everything that was written before. Those who are there already are ignored.
    ///
    /// - Parameter userIDs: 1 to 99 people. A group has at most 100.
    public func add(_ userIDs: [Person.ID], to roomID: Room.ID) async throws {
        try await list.change { [server] in try await server.addPeople(userIDs, to: roomID) }
    }

    /// Removes somebody else. What they wrote stays.
    ///
    /// It is no error if the person is not there any more.
    public func remove(_ userID: Person.ID, from roomID: Room.ID) async throws {
        let events = try await removing(userID, from: roomID, orRefused: "user_not_found")
        // The event may have come before the answer, and another one after it.
        if events.contains(.description) { return list.refreshSoon(roomID) }
        list.noteLeaving(of: userID, in: roomID)
    }

    /// Leaves a group, and removes it from this device with all that was not sent yet. With the last person, the group
    /// is deleted.
    public func leave(_ roomID: Room.ID) async throws {
        let events = try await removing(list.shown.store.userID, from: roomID, orRefused: "room_not_found")
        if !events.contains(.removal) { list.forget(roomID, because: .left) }
    }

    /// - Parameter code: the code of the refusal if somebody else was faster, or an earlier answer was lost.
    /// - Returns: how events have changed the room since the request.
    private func removing(
        _ userID: String, from roomID: String, orRefused code: String
    ) async throws -> Set<RoomLoads.Change> {
        let load = list.shown.store.beginLoad()
        defer { list.shown.store.abandon(load) }
        do {
            try await server.removePerson(userID, from: roomID)
        } catch ClientFailure.refused(let refusal) where refusal.code == code {
            // It is done.
        }
        return list.shown.store.loads.changes(of: roomID, since: load)
    }

    /// Gives somebody another role. The last owner cannot become a member.
    public func setRole(_ role: Room.Participant.Role, of userID: Person.ID, in roomID: Room.ID) async throws {
        try await list.change { [server] in try await server.setRole(role, of: userID, in: roomID) }
    }
}
