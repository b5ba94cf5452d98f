import Foundation
import ParlorClient
import Testing

/// Tests of counts with badges of plugins, and of `hasUnread`.
@Suite("Counts of plugins")
struct PluginCountTests {
    private func counts(_ badges: Room.Badges, hasUnread: Bool) -> RoomCounts {
        var room = Given.room("r", badges: badges)
        room.hasUnread = hasUnread
        var counts = RoomCounts(for: "me")
        counts.load([room])
        return counts
    }

    @Test("the server's value counts, until the library changes a count itself", arguments: [false, true])
    func server(hasUnread: Bool) {
        var counts = counts(.init(messages: 0, others: ["polls": hasUnread ? 0 : 2]), hasUnread: hasUnread)
        #expect(counts.rooms["r"]?.hasUnread == hasUnread)
        counts.enter("r")
        #expect(counts.rooms["r"]?.hasUnread == hasUnread, "nothing was unseen")
        counts.apply(Given.newGlobal("m1"))
        #expect(counts.rooms["r"]?.hasUnread == true)
        counts.apply(.badges(roomID: "r", badges: .init(), hasUnread: false))
        #expect(counts.rooms["r"] == RoomCount())
    }

    @Test("opening a room with unseen elements leaves it unread only if something else is new", arguments: [0, 2])
    func opening(polls: Int) {
        var counts = counts(.init(elements: 3, others: ["polls": polls]), hasUnread: true)
        counts.enter("r")
        #expect(counts.rooms["r"]?.unseenElements == 0)
        #expect(counts.rooms["r"]?.hasUnread == (polls > 0))
        #expect(counts.rooms["r"]?.otherBadges == ["polls": polls])
    }

    @Test("an event while the room is open lowers the elements, and has the other badges")
    func openRoom() {
        var counts = counts(.init(), hasUnread: false)
        counts.enter("r")
        counts.apply(.badges(roomID: "r", badges: .init(elements: 4, others: ["polls": 1]), hasUnread: true))
        #expect(counts.rooms["r"] == RoomCount(otherBadges: ["polls": 1]))
        counts.apply(.badges(roomID: "r", badges: .init(elements: 4, others: ["polls": 0]), hasUnread: true))
        #expect(counts.rooms["r"]?.hasUnread == false)
    }

    @Test("known badges stay if an answer has only last known ones")
    func degraded() {
        var counts = counts(.init(messages: 1, others: ["polls": 2]), hasUnread: true)
        var room = Given.room("r", badges: .init(others: ["polls": 0, "dice": 1]))
        room.hasUnread = true
        counts.load(room, degraded: ["polls"])
        #expect(counts.rooms["r"] == RoomCount(otherBadges: ["polls": 2, "dice": 1]))
        // The badge of "dice" comes from a service that answered.
        room.badges.others = ["polls": 0, "dice": 3]
        counts.load(room, degraded: ["polls"])
        #expect(counts.rooms["r"] == RoomCount(otherBadges: ["polls": 2, "dice": 3]))
        room.badges.others = ["polls": 0, "dice": 0]
        room.hasUnread = false
        counts.load(room)
        #expect(counts.rooms["r"] == RoomCount(otherBadges: ["polls": 0, "dice": 0]))
    }

    @Test("the server's value of a degraded answer counts if it has all badges", arguments: [false, true])
    func degradedValue(hasUnread: Bool) {
        var counts = counts(.init(others: ["polls": 2]), hasUnread: !hasUnread)
        var room = Given.room("r", badges: .init(others: ["polls": 2]))
        room.hasUnread = hasUnread
        counts.load(room, degraded: ["polls"])
        #expect(counts.rooms["r"]?.hasUnread == hasUnread)
        // It is known whether the server counts the badge that is kept.
        room.badges.others = ["polls": 0]
        room.hasUnread = false
        counts.load(room, degraded: ["polls"])
        #expect(counts.rooms["r"]?.otherBadges == ["polls": 2])
        #expect(counts.rooms["r"]?.hasUnread == hasUnread)
    }

    @Test("an answer that is unread for a reason without a name stays so, while badges are kept")
    func degradedReason() {
        var counts = counts(.init(others: ["polls": 0]), hasUnread: false)
        var room = Given.room("r")
        room.hasUnread = true
        counts.load(room, degraded: ["polls"])
        #expect(counts.rooms["r"]?.otherBadges == ["polls": 0] && counts.rooms["r"]?.hasUnread == true)
    }
}

/// Tests of the list of rooms with fields of plugins.
extension RoomListTests {
    func room(polls: Int, pollCount: Int) -> Room {
        var room = Given.room("a", badges: .init(others: ["polls": polls]))
        room.extras = ["pollCount": .integer(pollCount)]
        room.hasUnread = polls > 0
        return room
    }

    @Test("an event changes a badge at once; fields come with an answer, which a call asks for once")
    func badgesOfServices() async {
        await load(room(polls: 0, pollCount: 1))
        #expect(list["a"]?.extras == ["pollCount": .integer(1)] && list["a"]?.hasUnread == false)
        list.apply(.badges(roomID: "a", badges: .init(others: ["polls": 2]), hasUnread: true))
        await untilFetched()
        #expect(list["a"]?.badges == .init(others: ["polls": 2]) && list["a"]?.hasUnread == true)
        server.set(room(polls: 2, pollCount: 4))
        for _ in 0..<3 { list.refreshSoon("a") }
        list.refreshSoon("x")
        await untilFetched()
        #expect(list["a"]?.extras == ["pollCount": .integer(4)])
        #expect(server.calls == ["rooms", "room a"])
    }

    @Test("fields of an unavailable service stay, and the rooms are fetched until it is available again")
    func degradedServices() async {
        await load(room(polls: 2, pollCount: 3))
        server.set(room(polls: 0, pollCount: 0))
        server.degraded = ["polls"]
        await list.refresh()
        #expect(list["a"]?.badges[polls] == 2 && list["a"]?.extras == ["pollCount": .integer(3)])
        server.set(room(polls: 1, pollCount: 4))
        server.degraded = []
        await clock.advance(by: .seconds(1))
        #expect(list["a"]?.badges[polls] == 1 && list["a"]?.extras == ["pollCount": .integer(4)])
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["rooms", "rooms", "rooms"])
    }
}

private let polls = "polls"
