import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests of fetches for data that events lack.
extension RoomListTests {
    @Test("messages without text lead to one fetch of their room")
    func untoldMessage() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5))
        for number in 1...5 { list.apply(Given.newGlobal("m\(number)", in: "b", at: 20)) }
        #expect(ids == ["b", "a"])
        #expect(list.counts.latest(of: "b")?.unreadMessages == 5)
        server.set(
            Given.room("b", updatedAt: 5, messagesUpdatedAt: 20.5, badges: .init(messages: 5), last: Given.last("m5")))
        await untilFetched()
        #expect(list["b"]?.lastMessage?.text == "m5")
        #expect(server.calls == ["rooms", "room b"])
    }

    @Test("a new name that an event lacks is fetched")
    func untoldName() async {
        await load(Given.room("a"))
        var renamed = Given.room("a", updatedAt: 20)
        (renamed.name, renamed.displayName) = ("Kitchen", "Kitchen")
        server.set(renamed)
        list.apply(.roomUpdatedGlobal(roomID: "a", updatedBy: "bob", updatedAt: Given.at(20)))
        await untilFetched()
        #expect(list["a"]?.displayName == "Kitchen")
        #expect(server.calls == ["rooms", "room a"])
    }

    @Test("a deleted last message disappears at once, and the one before it is fetched")
    func deletion() async {
        await load(Given.room("a", messagesUpdatedAt: 10, last: Given.last("m2")))
        list.apply(
            .messageDeletedGlobal(roomID: "a", messageID: "m2", deletedBy: "bob", messagesUpdatedAt: Given.at(20)))
        #expect(list["a"]?.lastMessage == nil)
        list.apply(.messageNew(Given.message("m2", in: "a", at: 10)))
        #expect(list["a"]?.lastMessage == nil)
        server.set(Given.room("a", messagesUpdatedAt: 20, last: Given.last("m1")))
        await untilFetched()
        #expect(list["a"]?.lastMessage?.id == "m1")
        list.apply(
            .messageDeletedGlobal(roomID: "a", messageID: "m0", deletedBy: "bob", messagesUpdatedAt: Given.at(30)))
        await clock.advance(by: .seconds(5))
        #expect(server.calls == ["rooms", "room a"])
    }

    @Test("counts are fetched after a replay, which has no global events")
    func replayed() async {
        await load(Given.room("a", elements: 1))
        server.set(Given.room("a", updatedAt: 30, elements: 5, badges: .init(elements: 1)))
        list.apply(.elementCreated(Given.element("e5", in: "a", at: 30)))
        #expect(list["a"]?.badges.elements == 1)
        await untilFetched()
        #expect(list["a"]?.elementCount == 5)
        #expect(server.calls == ["rooms", "room a"])
    }

    @Test("replayed events are not counted twice and undo nothing; rooms are fetched")
    func repeated() async {
        await load(Given.room("a"), Given.room("b"))
        for number in 1...3 { list.apply(Given.newGlobal("m\(number)", in: "a", at: 20)) }
        let now = Given.room("a", messagesUpdatedAt: 20, badges: .init(messages: 4), last: Given.last("m4"))
        server.set(now)
        list.apply(SocketUpdate.connected)
        list.apply(.messageNew(Given.message("m1", in: "a", at: 20)))
        list.apply(.badges(roomID: "a", badges: .init(), hasUnread: false))
        for number in 2...4 { list.apply(.messageNew(Given.message("m\(number)", in: "a", at: 20))) }
        #expect(list.counts.latest(of: "a")?.unreadMessages == 3)
        list.apply(SocketUpdate.recovered(true))
        await server.untilCalled(2)
        await TestClock.settle()
        #expect(list["a"]?.badges.messages == 4)
        #expect(list["a"]?.lastMessage?.id == "m4")
        #expect(server.calls == ["rooms", "rooms"])
        list.apply(.messageNew(Given.message("m5", in: "a", at: 30)))
        #expect(list.counts.latest(of: "a")?.unreadMessages == 5)
    }

    @Test("a refresh that began before an event does not undo it")
    func overtaken() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5))
        server.hold()
        let refreshing = Task { await list.refresh() }
        await server.untilCalled(2)
        list.apply(.messageNew(Given.message("m1", in: "b", at: 20)))
        list.apply(Given.elements(.created, "e1", in: "b", at: 21, count: 7, rev: 1))
        list.apply(.roomCreated(Given.room("c", updatedAt: 22)))
        server.release()
        await refreshing.value
        #expect(ids == ["c", "b", "a"])
        #expect(list["b"]?.lastMessage?.id == "m1")
        #expect(list["b"]?.elementCount == 7)
        #expect(list["b"]?.badges == .init(messages: 1, elements: 1))
        // Rooms with newer events are fetched once more.
        server.set(Given.room("b", updatedAt: 21, messagesUpdatedAt: 20, elements: 8, last: Given.last("m1", at: 20)))
        server.set(Given.room("c", updatedAt: 22))
        await untilFetched()
        #expect(server.calls.sorted() == ["room b", "room c", "rooms", "rooms"])
        #expect(list["b"]?.elementCount == 8)
    }

    @Test("an event that the last answer may include leads to a fetch")
    func doubtful() async {
        let answer = Given.room("a", updatedAt: 20, elements: 1, badges: .init(elements: 1))
        server.all = [answer]
        await list.refresh()
        list.apply(Given.elements(.created, "e1", in: "a", at: 20, count: 1, rev: 1))
        await untilFetched()
        #expect(list["a"]?.badges.elements == 1)
    }

    @Test("a room that is no longer the person's is removed with its counts")
    func gone() async {
        await load(Given.room("a"), Given.room("b"))
        server.all = [Given.room("b")]
        list.apply(Given.newGlobal("m1", in: "a", at: 20))
        await untilFetched()
        #expect(ids == ["b"])
        #expect(list.counts.latest(of: "a") == nil)
    }

    @Test("an element whose event was lost is unseen: the rev skips, and the room is fetched")
    func lost() async {
        await load(Given.room("a"))
        list.apply(Given.elements(.created, "e1", in: "a", at: 20, count: 1, rev: 5))
        server.set(Given.room("a", updatedAt: 22, elements: 3, badges: .init(elements: 3)))
        list.apply(Given.elements(.created, "e3", in: "a", at: 22, count: 3, rev: 7))
        await untilFetched()
        #expect(list["a"]?.badges.elements == 3)
        #expect(server.calls == ["rooms", "room a"])
    }

    @Test("an element created during a leave is seen or not as the server says, which is asked after the leave")
    func leaving() async {
        await load(Given.room("a"))
        list.enter("a")
        list.beginLeaving("a")
        list.apply(Given.elements(.created, "e1", in: "a", at: 20, count: 1, rev: 1))
        await untilFetched()
        #expect(list["a"]?.badges.elements == 0)
        #expect(server.calls == ["rooms"])
        server.set(Given.room("a", updatedAt: 20, elements: 1, badges: .init(elements: 1)))
        list.leave("a")
        await untilFetched()
        #expect(list["a"]?.badges.elements == 1)
    }

    @Test(
        "in a room that was opened and left, elements may still be unseen, so the server is asked if there were any"
    )
    func openedShortly() async {
        await load(Given.room("a", elements: 1, badges: .init(elements: 1)), Given.room("b", elements: 1))
        for room in ["a", "b"] { list.enter(room) }
        #expect(list["a"]?.badges.elements == 0)
        for room in ["a", "b"] {
            list.beginLeaving(room)
            list.leave(room)
        }
        await untilFetched()
        #expect(list["a"]?.badges.elements == 1)
        // Elements that an answer brings into an open room count as seen, too.
        list.enter("b")
        server.set(Given.room("b", elements: 2, badges: .init(elements: 1)))
        await list.refresh()
        #expect(list["b"]?.badges.elements == 0)
        list.leave("b")
        await clock.advance(by: .seconds(1))
        #expect(list["b"]?.badges.elements == 1)
        #expect(server.calls == ["rooms", "room a", "rooms", "room b"])
    }

    @Test("a failed fetch is retried with growing pauses")
    func again() async {
        await load(Given.room("a"))
        server.failure = .offline("away")
        list.apply(Given.newGlobal("m1", in: "a", at: 20))
        await untilFetched()
        #expect(server.calls.count == 2)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 3)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 3)
        server.failure = nil
        server.set(Given.room("a", messagesUpdatedAt: 20, last: Given.last("m1")))
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 4)
        #expect(list["a"]?.lastMessage?.id == "m1")
    }

    @Test("many rooms are fetched with one request")
    func many() async {
        let rooms = (10..<30).map { Given.room("r\($0)") }
        server.all = rooms
        await list.refresh()
        for room in rooms { list.apply(Given.newGlobal("m1", in: room.id, at: 20)) }
        server.all = rooms.map { Given.room($0.id, messagesUpdatedAt: 20, last: Given.last("m1")) }
        await untilFetched()
        #expect(server.calls == ["rooms", "rooms"])
        #expect(list.rooms.allSatisfy { $0.lastMessage?.id == "m1" })
    }
}
