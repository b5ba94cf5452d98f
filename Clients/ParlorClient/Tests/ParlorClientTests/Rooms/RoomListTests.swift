import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("RoomList", .timeLimit(.minutes(1))) @MainActor
struct RoomListTests {
    let clock = TestClock(start: Given.at(1000))
    let server = FakeRoomServer()
    let list: RoomList

    init() { list = RoomList(for: "me", from: server, clock: clock, random: { 1 }) }

    var ids: [String] { list.rooms.map(\.id) }

    /// Loads the list, and lets so much time pass that later events are surely not part of that answer.
    func load(_ rooms: Room...) async {
        server.all = rooms
        await list.refresh()
        await clock.advance(by: .seconds(10))
    }

    func untilFetched() async { await clock.advance(by: .milliseconds(100)) }

    // MARK: Order

    @Test("rooms are sorted by activity, by messages with silent rooms last, or by content; ties by id")
    func order() async {
        await load(
            Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5, messagesUpdatedAt: 20),
            Given.room("c", updatedAt: 10), Given.room("d", updatedAt: 1, messagesUpdatedAt: 9))
        #expect(ids == ["b", "c", "a", "d"])
        list.order = .messages
        #expect(ids == ["b", "d", "c", "a"])
        list.order = .content
        #expect(ids == ["c", "a", "b", "d"])
    }

    @Test("rooms of the same second keep the server's more precise order")
    func fullTimes() async {
        var first = Given.room("a", updatedAt: 0, messagesUpdatedAt: 5)
        var second = Given.room("b", updatedAt: 0, messagesUpdatedAt: 5)
        first.lastActivityAt = Given.at(5.9)
        second.lastActivityAt = Given.at(5.1)
        list.order = .messages
        await load(first, second)
        #expect(ids == ["a", "b"])
    }

    // MARK: Events that need no fetch

    @Test("a message moves its room to the front and is shown, without a fetch")
    func message() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5))
        list.apply(.messageNew(Given.message("m1", in: "b", at: 20.5)))
        list.apply(Given.newGlobal("m1", in: "b", at: 20))
        await untilFetched()
        #expect(ids == ["b", "a"])
        #expect(list["b"]?.lastMessage?.text == "m1")
        #expect(list["b"]?.lastActivityType == .message)
        #expect(list["b"]?.lastActivityDate == Given.at(20.5))
        #expect(list["b"]?.badges.messages == 1)
        #expect(server.calls == ["rooms"])
    }

    @Test("an element moves its room by content and sets its counts, without a fetch")
    func element() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5, messagesUpdatedAt: 8))
        list.apply(Given.elements(.created, "e1", in: "b", at: 30, count: 4, rev: 1))
        await untilFetched()
        #expect(ids == ["b", "a"])
        #expect(list["b"]?.elementCount == 4)
        #expect(list["b"]?.badges.elements == 1)
        #expect(list["b"]?.lastActivityType == .roomUpdate)
        #expect(list["b"]?.messagesUpdatedAt == Given.at(8))
        #expect(server.calls == ["rooms"])
    }

    @Test("a new room and badges are shown without a fetch")
    func personEvents() async {
        await load(Given.room("a", updatedAt: 10, badges: .init(messages: 4, elements: 1)))
        list.apply(.roomCreated(Given.room("b", updatedAt: 20)))
        list.apply(.badges(roomID: "a", badges: .init(messages: 3, elements: 1), hasUnread: true))
        await untilFetched()
        #expect(ids == ["b", "a"])
        #expect(list["a"]?.badges == .init(messages: 3, elements: 1))
        #expect(list["a"]?.hasUnread == true)
        #expect(server.calls == ["rooms"])
    }

    /// Returns who is shown as present in the room.
    private func present(in id: String = "a") -> [String] {
        let present = list[id]?.participants.filter(\.isPresent).map(\.userID) ?? []
        #expect(list[id]?.isActive == !present.isEmpty)
        return present
    }

    /// Lets events be shown that follow each other quickly.
    private func untilShown() async { await clock.advance(by: RoomCountManager.interval) }

    @Test("presence is that of others in an open room, as long as there is a connection")
    func presence() async {
        var room = Given.room("a")
        room.isActive = true
        for index in room.participants.indices { room.participants[index].isPresent = true }
        await load(room, Given.room("b"))
        #expect(present() == [], "an answer that nothing keeps up to date")
        list.apply(.joined(room))
        list.apply(.presence(roomID: "b", userID: "bob", isPresent: true))
        await untilShown()
        #expect(present() == [], "it is not open")
        #expect(present(in: "b") == [])
        list.enter("a")
        list.apply(.joined(room))
        await untilShown()
        #expect(present() == ["bob"])
        await list.refresh()
        #expect(present() == ["bob"])
        list.apply(.disconnected(.offline("no network")))
        #expect(present() == [])
        list.apply(.connected)
        list.apply(.joined(room))
        await untilShown()
        #expect(present() == ["bob"])
        list.beginLeaving("a")
        list.apply(.presence(roomID: "a", userID: "bob", isPresent: true))
        await untilShown()
        #expect(present() == [], "the room is being left")
    }

    @Test("a presence event that follows the join wins over the answer to the join")
    func presenceSinceJoin() async {
        var room = Given.room("a")
        room.participants[1].isPresent = true
        await load(room)
        list.enter("a")
        list.apply(.presence(roomID: "a", userID: "bob", isPresent: false))
        list.apply(.joined(room))
        await untilShown()
        #expect(present() == [])
        list.apply(.presence(roomID: "a", userID: "bob", isPresent: true))
        await untilShown()
        #expect(present() == ["bob"])
    }

    @Test("a name in the room's event is shown or removed without a fetch")
    func name() async {
        await load(Given.room("a"))
        list.apply(.roomUpdated(roomID: "a", name: "Kitchen", updatedAt: Given.at(20)))
        list.apply(.roomUpdatedGlobal(roomID: "a", updatedBy: "bob", updatedAt: Given.at(20)))
        #expect(list["a"]?.displayName == "Kitchen")
        list.apply(.roomUpdated(roomID: "a", name: nil, updatedAt: Given.at(21)))
        list.apply(.roomUpdatedGlobal(roomID: "a", updatedBy: "bob", updatedAt: Given.at(21)))
        await untilFetched()
        #expect(list["a"]?.displayName == "me & bob")
        #expect(server.calls == ["rooms"])
    }

    @Test("entering resets the unseen count of the row, too")
    func entering() async {
        await load(Given.room("a", badges: .init(elements: 4)))
        list.enter("a")
        #expect(list["a"]?.badges.elements == 0)
        #expect(list["a"]?.hasUnread == false)
    }

    // MARK: Other people's rooms

    @Test("events of other people's rooms are not recorded, even while an answer is on its way")
    func foreign() async {
        await load(Given.room("a"))
        server.hold()
        let refreshing = Task { await list.refresh() }
        await server.untilCalled(2)
        list.apply(Given.newGlobal("m1", in: "x"))
        list.apply(.roomCreatedGlobal(roomID: "x", createdBy: "eve"))
        list.apply(.roomUpdatedGlobal(roomID: "x", updatedBy: "eve", updatedAt: Given.at(9)))
        server.release()
        await refreshing.value
        list.apply(Given.elements(.created, "e1", in: "x", count: 1, rev: 1))
        await untilFetched()
        #expect(ids == ["a"])
        #expect(list.counts.latest(of: "x") == nil)
        #expect(server.calls == ["rooms", "rooms"])
    }

    // MARK: Refreshing

    @Test("a failed load keeps the list, and sets the failure")
    func failing() async {
        await load(Given.room("a"))
        server.failure = .offline("away")
        await list.refresh()
        #expect(ids == ["a"])
        #expect(list.failure == .offline("away"))
        server.failure = nil
        await list.refresh()
        #expect(list.failure == nil)
    }

    @Test("rooms are fetched again after a reconnect, even after a full replay")
    func reconnecting() async {
        await load(Given.room("a"))
        list.apply(.connected)
        list.apply(.recovered(true))
        await server.untilCalled(2)
        #expect(ids == ["a"])
        server.all = []
        list.apply(SocketUpdate.recovered(false))
        await server.untilCalled(3)
        await TestClock.settle()
        #expect(ids.isEmpty)
    }

    @Test("after missed events, rooms are fetched until there is an answer")
    func owing() async {
        await load(Given.room("a"))
        server.failure = .offline("away")
        server.all = [Given.room("b")]
        list.apply(SocketUpdate.recovered(false))
        await server.untilCalled(2)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 3)
        #expect(ids == ["a"])
        server.failure = nil
        list.apply(SocketUpdate.recovered(true))
        await server.untilCalled(4)
        await TestClock.settle()
        #expect(ids == ["b"])
        await clock.advance(by: .seconds(60))
        // The missing room is fetched once.
        #expect(server.calls == ["rooms", "rooms", "rooms", "rooms", "room a"])
    }

    @Test("in the foreground, a list older than five minutes is fetched again")
    func foreground() async {
        await list.becomeActive()
        await clock.advance(by: .seconds(300))
        await list.becomeActive()
        #expect(server.calls.count == 1)
        await clock.advance(by: .seconds(1))
        await list.becomeActive()
        #expect(server.calls.count == 2)
    }

    @Test("concurrent calls share one answer, which is requested after them")
    func sharing() async {
        server.hold()
        let first = Task { await list.refresh() }
        await server.untilCalled(1)
        server.all = [Given.room("a")]
        let others = (0..<5).map { _ in Task { await list.refresh() } }
        await TestClock.settle()
        server.release()
        await first.value
        for other in others { await other.value }
        #expect(server.calls == ["rooms", "rooms"])
        #expect(ids == ["a"])
    }

    // MARK: Changing

    @Test("a created room appears once, whether its answer or its event comes first")
    func making() async throws {
        await load()
        #expect(try await list.makeRoom(with: "bob").id == "made")
        list.apply(.roomCreated(Given.room("made")))
        #expect(ids == ["made"])
        await untilFetched()
        #expect(server.calls == ["rooms", "make bob"])
    }

    @Test("a new name is shown when the answer arrives")
    func renaming() async throws {
        await load(Given.room("a"))
        try await list.rename("a", to: "Kitchen")
        #expect(list["a"]?.displayName == "Kitchen")
    }

    // MARK: People

    @Test("people are sorted by latest activity, their rooms by content")
    func people() async {
        await load(
            Given.room("a", with: ["ann"], updatedAt: 10), Given.room("b", with: ["ann"], updatedAt: 20),
            Given.room("c", with: ["bob"], updatedAt: 5, messagesUpdatedAt: 30))
        #expect(list.people.map(\.id) == ["bob", "ann"])
        #expect(list.people[1].rooms.map(\.id) == ["b", "a"])
        list.apply(Given.elements(.updated, "e", in: "a", at: 40, count: 0, rev: 1))
        #expect(list.people.map(\.id) == ["ann", "bob"])
        #expect(list.people[0].rooms.map(\.id) == ["a", "b"])
    }
}
