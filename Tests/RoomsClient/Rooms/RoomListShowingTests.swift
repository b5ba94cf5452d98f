import RoomsClient
import RoomsClientTesting
import Testing

@Suite("RoomList, when it shows what", .timeLimit(.minutes(1))) @MainActor
struct RoomListShowingTests {
    private let clock = TestClock(start: Given.at(1000))
    private let server = FakeRoomServer()
    private let list: RoomList

    init() { list = RoomList(for: "me", from: server, clock: clock) }

    private func load(_ rooms: Room...) async {
        server.all = rooms
        await list.refresh()
        await clock.advance(by: .seconds(10))
    }

    @Test("events are shown at once, and then together after 100 ms; a room that comes or goes does not wait")
    func coalescing() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5))
        list.apply(Given.elements(.created, "e1", in: "b", at: 20, count: 1, rev: 1))
        #expect(list.rooms.map(\.id) == ["b", "a"] && list["b"]?.elementCount == 1)
        for number in 2...50 {
            list.apply(Given.elements(.created, "e\(number)", in: "b", at: 20, count: number, rev: number))
            list.apply(.messageNew(Given.message("m\(100 + number)", in: "a", at: 30)))
        }
        #expect(list.rooms.map(\.id) == ["b", "a"] && list["b"]?.elementCount == 1)
        await clock.advance(by: RoomCountManager.interval)
        #expect(list.rooms.map(\.id) == ["a", "b"])
        #expect(list["a"]?.badges.messages == 49)
        #expect(list["b"]?.elementCount == 50 && list["b"]?.badges.elements == 50)
        list.apply(Given.elements(.updated, "e1", in: "b", at: 40, count: 50, rev: 51))
        list.apply(.roomCreated(Given.room("c", updatedAt: 50)))
        #expect(list.rooms.map(\.id) == ["c", "b", "a"])
    }

    @Test("events of the same second stay in the order in which they came")
    func sameSecond() async {
        await load(Given.room("a"), Given.room("b"), Given.room("c"))
        for id in ["b", "c", "a"] { list.apply(Given.elements(.updated, "e", in: id, at: 50, count: 1, rev: 1)) }
        // What is asked for meanwhile is not told here.
        server.hold()
        await clock.advance(by: RoomCountManager.interval)
        #expect(list.rooms.map(\.id) == ["a", "c", "b"])
    }
}
