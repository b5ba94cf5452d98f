import ParlorClient
import Testing

/// A server that answers with the test's data, when the test says so.
@MainActor
final class FakeRoomServer: RoomServer {
    var all: [Room] = []
    var failure: ClientFailure?
    /// The names of the services that count as unavailable. The test sets the values that answers then have.
    var degraded: [String] = []
    var pages: [String: Page<Person>] = [:]
    private(set) var calls: [String] = []
    /// The ids of requests to create a group.
    private(set) var requestIDs: [String] = []
    private var isHeld = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Holds calls until `release`. Each is answered with the state at the time when it arrived.
    func hold() { isHeld = true }

    /// Answers later calls at once. Held calls stay held.
    func letPass() { isHeld = false }

    func release() {
        isHeld = false
        for continuation in held { continuation.resume() }
        held = []
    }

    func untilCalled(_ count: Int) async {
        guard calls.count < count else { return }
        await withCheckedContinuation { watchers.append((count, $0)) }
    }

    func set(_ room: Room) {
        all.removeAll { $0.id == room.id }
        all.append(room)
    }

    @MainActor func rooms(sortedBy order: RoomOrder) async throws -> RoomListing {
        let answer = RoomListing(rooms: all, degraded: degraded)
        try await respond("rooms")
        return answer
    }

    @MainActor func room(_ id: String) async throws -> RoomAnswer {
        let degraded = degraded
        let room = all.first { $0.id == id }
        try await respond("room \(id)")
        guard let room else {
            throw ClientFailure.refused(Refusal(code: "room_not_found", message: "", status: 404))
        }
        return RoomAnswer(room: room, degraded: degraded)
    }

    @MainActor func peopleWithoutRooms(matching prefix: String?, limit: Int?, cursor: String?) async throws -> Page<
        Person
    > {
        let name = "people \(prefix ?? "")\(cursor.map { " from \($0)" } ?? "")"
        let page = pages[name]
        try await respond(name)
        return try #require(page, "not expected: \(name)")
    }

    @MainActor func makeRoom(with userID: String, name: String?, requestID: String) async throws -> RoomAnswer {
        let room = Given.room("made", with: [userID])
        set(room)
        try await respond("make \(userID)")
        return RoomAnswer(room: room)
    }

    @MainActor func makeGroup(with userIDs: [String], name: String?, requestID: String) async throws -> RoomAnswer {
        requestIDs.append(requestID)
        var room = Given.room("made", with: userIDs)
        room.kind = .group
        set(room)
        try await respond("make a group")
        return RoomAnswer(room: room)
    }

    @MainActor func addPeople(_ userIDs: [String], to roomID: String) async throws -> RoomAnswer {
        let room = try changePeople(of: roomID) { people in
            people += userIDs.map { .init(userID: $0, username: $0, joinedAt: Given.start, isPresent: false) }
        }
        try await respond("add to \(roomID)")
        return RoomAnswer(room: room)
    }

    @MainActor func removePerson(_ userID: String, from roomID: String) async throws {
        var isThere = false
        _ = try changePeople(of: roomID) { people in
            isThere = people.contains { $0.userID == userID }
            people.removeAll { $0.userID == userID }
        }
        try await respond("remove from \(roomID)")
        if !isThere { throw ClientFailure.refused(Refusal(code: "user_not_found", message: "", status: 404)) }
    }

    @MainActor func setRole(
        _ role: Room.Participant.Role, of userID: String, in roomID: String
    ) async throws -> RoomAnswer {
        let room = try changePeople(of: roomID) { people in
            for index in people.indices where people[index].userID == userID { people[index].role = role }
        }
        try await respond("set a role in \(roomID)")
        return RoomAnswer(room: room)
    }

    private func changePeople(of roomID: String, _ body: (inout [Room.Participant]) -> Void) throws -> Room {
        var room = try #require(all.first { $0.id == roomID })
        body(&room.participants)
        room.participantCount = room.participants.count
        set(room)
        return room
    }

    @MainActor func rename(_ roomID: String, to name: String) async throws -> RoomAnswer {
        var room = try #require(all.first { $0.id == roomID })
        (room.name, room.displayName) = (name, name)
        set(room)
        try await respond("rename \(roomID)")
        return RoomAnswer(room: room, degraded: degraded)
    }

    private func respond(_ call: String) async throws {
        calls.append(call)
        for watcher in watchers where watcher.count <= calls.count { watcher.continuation.resume() }
        watchers.removeAll { $0.count <= calls.count }
        let failure = failure
        if isHeld { await withCheckedContinuation { held.append($0) } }
        if let failure { throw failure }
    }
}
