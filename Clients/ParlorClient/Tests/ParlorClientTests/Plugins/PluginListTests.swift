import ParlorClient
import ParlorClientTesting
import Testing

private let polls = "polls"

/// Tests of the list of rooms with plugins: fields that are fetched again, services that are down, and badges
/// that the gateway composes while other events arrive.
extension RoomListTests {
    @Test("a call during a fetch of the room asks for it again")
    func refreshedDuringFetch() async {
        await load(room(polls: 0, pollCount: 1))
        server.hold()
        list.refreshSoon("a")
        await untilFetched()
        await server.untilCalled(2)
        list.refreshSoon("a")
        server.set(room(polls: 0, pollCount: 2))
        server.release()
        await clock.advance(by: .seconds(1))
        #expect(list["a"]?.extras == ["pollCount": .integer(2)])
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["rooms", "room a", "room a"])
    }

    @Test("of an unavailable service's fields, those stay that an answer has as empty; others are taken")
    func fieldsOfOthers() async {
        var known = room(polls: 2, pollCount: 3)
        known.extras = ["pollCount": .integer(3), "topic": .string("a"), "dice": .integer(1), "gone": .bool(true)]
        await load(known)
        known.extras = ["pollCount": .integer(0), "topic": .null, "dice": .integer(5), "new": .integer(0)]
        server.set(known)
        server.degraded = ["polls"]
        await list.refresh()
        #expect(
            list["a"]?.extras == [
                "pollCount": .integer(3), "topic": .string("a"), "dice": .integer(5), "gone": .bool(true),
                "new": .integer(0),
            ])
    }

    @Test("a plugin that stays down is asked for every five minutes; one of the server's own sooner")
    func longDown() async {
        await load(room(polls: 2, pollCount: 3))
        server.degraded = ["polls"]
        await list.refresh()
        for exponent in 0..<9 { await clock.advance(by: .seconds(1 << exponent)) }
        #expect(server.calls.count == 11)
        await clock.advance(by: .seconds(299))
        #expect(server.calls.count == 11)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 12)
        server.degraded = ["polls", "elements"]
        await list.refresh()
        for pause in [1, 2, 4, 8, 16, 30, 30] { await clock.advance(by: .seconds(pause)) }
        #expect(server.calls.count == 20)
        server.degraded = []
        await clock.advance(by: .seconds(30))
        await clock.advance(by: .seconds(600))
        #expect(server.calls.count == 21)
    }

    @Test("badges that come soon after an element, or are higher than counted, are checked with the server")
    func composedBadges() async {
        await load(Given.room("a"), Given.room("b"))
        // These badges are late: they were composed before the element was created.
        list.apply(Given.elements(.created, "e1", in: "a", at: 20, count: 1, rev: 1))
        list.apply(.badges(roomID: "a", badges: .init(others: [polls: 1]), hasUnread: true))
        // These badges are early: the event of their element arrives later.
        list.apply(.badges(roomID: "b", badges: .init(elements: 1, others: [polls: 1]), hasUnread: true))
        list.apply(Given.elements(.created, "e2", in: "b", at: 20, count: 1, rev: 1))
        for id in ["a", "b"] {
            server.set(
                Given.room(id, updatedAt: 20, elements: 1, badges: .init(elements: 1, others: [polls: 1])))
        }
        await untilFetched()
        #expect(list["a"]?.badges == .init(elements: 1, others: [polls: 1]))
        #expect(list["b"]?.badges == .init(elements: 1, others: [polls: 1]))
        #expect(server.calls.count == 3)
    }

    @Test("badges of an open room, and those long after a message, are not checked")
    func trustedBadges() async {
        await load(Given.room("a"), Given.room("b"))
        list.enter("a")
        list.apply(.messageNew(Given.message("m1", in: "a", at: 20)))
        list.apply(.badges(roomID: "a", badges: .init(), hasUnread: false))
        list.apply(.messageNew(Given.message("m2", in: "b", at: 20)))
        await clock.advance(by: .seconds(2))
        list.apply(.badges(roomID: "b", badges: .init(), hasUnread: false))
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["rooms"])
        #expect(list["b"]?.badges == .init())
    }
}
