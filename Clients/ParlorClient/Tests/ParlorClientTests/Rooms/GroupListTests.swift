import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("RoomList: the people of groups", .timeLimit(.minutes(1))) @MainActor
struct GroupListTests {
    let clock = TestClock(start: Given.at(1000))
    let server = FakeRoomServer()
    let list: RoomList

    init() { list = RoomList(for: "me", from: server, clock: clock, random: { 1 }) }

    private func group(_ others: [String] = ["ann", "bob"], count: Int? = nil, name: String? = nil) -> Room {
        var room = Given.room("g", with: others)
        (room.kind, room.name) = (.group, name)
        if let count { room.participantCount = count }
        return room
    }

    private func person(_ id: String, role: Room.Participant.Role = .member, joinedAt: Double = 0) -> Room.Participant {
        .init(userID: id, username: id, joinedAt: Given.at(joinedAt), role: role, isPresent: false)
    }

    private func load(_ rooms: Room...) async {
        server.all = rooms
        await list.refresh()
        await clock.advance(by: .seconds(10))
    }

    private var people: [String]? { list["g"]?.participants.map(\.userID) }

    @Test("people who come, leave and change are shown without a fetch, with the presence that is known")
    func events() async {
        await load(group())
        list.enter("g")
        list.apply(.presence(roomID: "g", userID: "bob", isPresent: true))
        list.apply(.participantJoined(roomID: "g", person("cleo", joinedAt: 5), addedBy: "ann", updatedAt: Given.at(5)))
        list.apply(.roomUpdatedGlobal(roomID: "g", updatedBy: "ann", updatedAt: Given.at(5)))
        await clock.advance(by: .seconds(1))
        #expect(people == ["me", "ann", "bob", "cleo"])
        #expect(list["g"]?.displayName == "me & ann & bob +1")
        list.apply(.participantUpdated(roomID: "g", person("bob", role: .owner)))
        list.apply(.participantLeft(roomID: "g", userID: "ann", removedBy: nil, updatedAt: Given.at(6)))
        await clock.advance(by: .seconds(1))
        #expect(people == ["me", "bob", "cleo"] && list["g"]?.participantCount == 3)
        #expect(list["g"]?.participants[1].role == .owner && list["g"]?.participants[1].isPresent == true)
        #expect(list["g"]?.updatedAt == Given.at(6))
        #expect(server.calls == ["rooms"])
    }

    @Test("an event that comes twice counts once, and who came back is last")
    func twice() async {
        await load(group())
        for _ in 1...2 {
            list.apply(
                .participantJoined(roomID: "g", person("ann", joinedAt: 7), addedBy: "bob", updatedAt: Given.at(7)))
            list.apply(.participantLeft(roomID: "g", userID: "zoe", removedBy: nil, updatedAt: Given.at(8)))
        }
        await clock.advance(by: .seconds(1))
        #expect(people == ["me", "bob", "ann"] && list["g"]?.participantCount == 3)
    }

    @Test("in a group of which only the first people are known, a change is fetched")
    func partial() async {
        await load(group(count: 40))
        server.set(group(["ann", "bob", "cleo"], count: 41))
        list.apply(.participantJoined(roomID: "g", person("cleo"), addedBy: "bob", updatedAt: Given.at(7)))
        await clock.advance(by: .seconds(1))
        #expect(server.calls == ["rooms", "room g"])
        #expect(list["g"]?.participantCount == 41)
    }

    @Test("opening a large group brings all people, and later lists of the first ones do not remove them")
    func whole() async {
        await load(group(count: 4))
        list.enter("g")
        list.apply(.joined(group(["ann", "bob", "cleo"])))
        await clock.advance(by: .seconds(1))
        #expect(people == ["me", "ann", "bob", "cleo"])
        await load(group(count: 4))
        #expect(people == ["me", "ann", "bob", "cleo"])
        #expect(server.calls == ["rooms", "rooms"])
    }

    @Test("the answer to joining a room does not undo a later event: the room is fetched")
    func lateJoin() async {
        await load(group())
        list.enter("g")
        server.set(group(["ann", "bob", "cleo"]))
        list.apply(.participantJoined(roomID: "g", person("cleo"), addedBy: "ann", updatedAt: Given.at(5)))
        list.apply(.joined(group()))
        #expect(list["g"]?.participantCount == 4)
        await clock.advance(by: .seconds(1))
        #expect(people == ["me", "ann", "bob", "cleo"] && server.calls == ["rooms", "room g"])
    }

    @Test("an answer that is older than an event does not bring people back")
    func olderAnswer() async {
        await load(group())
        server.hold()
        let refreshing = Task { await list.refresh() }
        await server.untilCalled(2)
        list.apply(.participantLeft(roomID: "g", userID: "bob", removedBy: "ann", updatedAt: Given.at(5)))
        server.release()
        await refreshing.value
        #expect(people == ["me", "ann"] && list["g"]?.participantCount == 2)
        #expect(list["g"]?.displayName == "me & ann")
    }

    @Test("a room that was removed does not come back with an older answer, but with a later event")
    func removed() async {
        var reasons: [ClientFailure] = []
        list.onGone = { reasons.append($1) }
        await load(group(name: "Trip"), Given.room("r"))
        server.hold()
        let refreshing = Task { await list.refresh() }
        await server.untilCalled(2)
        list.apply(.roomRemoved(roomID: "g", removedBy: "ann"))
        #expect(list["g"] == nil)
        server.release()
        await refreshing.value
        #expect(list.rooms.map(\.id) == ["r"])
        server.all = [Given.room("r")]
        await clock.advance(by: .seconds(1))
        #expect(list.rooms.map(\.id) == ["r"] && list.counts.latest(of: "g") == nil)
        list.apply(.roomCreated(group()))
        #expect(list["g"] != nil)
        list.apply(.roomRemoved(roomID: "g", removedBy: nil))
        #expect(reasons.map(\.code) == ["removed", "room_not_found", "left"])
    }

    @Test("a removal in a replay may be followed by a return, so the server is asked")
    func replayedRemoval() async {
        await load(group(), Given.room("r"))
        list.apply(.connected)
        list.apply(.roomRemoved(roomID: "g", removedBy: "ann"))
        #expect(list["g"] != nil)
        server.all = [Given.room("r")]
        list.apply(.recovered(true))
        await clock.advance(by: .seconds(5))
        #expect(list["g"] == nil && server.calls.contains("room g"))
    }

    @Test("groups are in the list, and people have direct rooms only")
    func grouping() async {
        await load(group(), Given.room("r", with: ["bob"]))
        #expect(list.people.map(\.id) == ["bob"])
        #expect(list.people.first?.rooms.map(\.id) == ["r"])
        #expect(Set(list.rooms.map(\.id)) == ["g", "r"])
    }

    // MARK: Changes by the person

    @Test("a new group is in the list, and a repeated call after a lost answer has the same id")
    func making() async throws {
        await load()
        server.failure = .offline("lost")
        await #expect(throws: ClientFailure.self) { try await list.groups.make(with: ["ann", "bob"]) }
        server.failure = nil
        let room = try await list.groups.make(with: ["ann", "bob"])
        #expect(list[room.id]?.kind == .group)
        #expect(Set(server.requestIDs).count == 1 && server.requestIDs.count == 2)
    }

    @Test("added and removed people, and roles, are shown with the answer")
    func changing() async throws {
        await load(group())
        try await list.groups.add(["cleo"], to: "g")
        #expect(people == ["me", "ann", "bob", "cleo"])
        try await list.groups.setRole(.owner, of: "cleo", in: "g")
        #expect(list["g"]?.participants.last?.role == .owner)
        try await list.groups.remove("ann", from: "g")
        #expect(people == ["me", "bob", "cleo"])
        // Somebody else was faster.
        try await list.groups.remove("ann", from: "g")
        #expect(people == ["me", "bob", "cleo"] && list["g"]?.participantCount == 3)
    }

    @Test("a group that the person leaves is gone with the answer")
    func leaving() async throws {
        var reasons: [ClientFailure] = []
        list.onGone = { reasons.append($1) }
        await load(group())
        try await list.groups.leave("g")
        #expect(list.rooms.isEmpty && reasons.map(\.code) == ["left"])
        server.failure = .offline("lost")
        await #expect(throws: ClientFailure.self) { try await list.groups.leave("g") }
    }
}
