import ParlorClient
import ParlorClientTesting
import Testing

/// Tests of the time at which changes are shown.
extension RoomListTests {
    @Test("the first event is shown at once, later ones together after 100 ms; new and removed rooms at once")
    func coalescing() async {
        await load(Given.room("a", updatedAt: 10), Given.room("b", updatedAt: 5))
        list.apply(Given.elements(.created, "e1", in: "b", at: 20, count: 1, rev: 1))
        #expect(ids == ["b", "a"] && list["b"]?.elementCount == 1)
        for number in 2...50 {
            list.apply(Given.elements(.created, "e\(number)", in: "b", at: 20, count: number, rev: number))
            list.apply(.messageNew(Given.message("m\(100 + number)", in: "a", at: 30)))
        }
        #expect(ids == ["b", "a"] && list["b"]?.elementCount == 1)
        await clock.advance(by: RoomCountManager.interval)
        #expect(ids == ["a", "b"])
        #expect(list["a"]?.badges.messages == 49)
        #expect(list["b"]?.elementCount == 50 && list["b"]?.badges.elements == 50)
        list.apply(Given.elements(.updated, "e1", in: "b", at: 40, count: 50, rev: 51))
        list.apply(.roomCreated(Given.room("c", updatedAt: 50)))
        #expect(ids == ["c", "b", "a"])
    }

    @Test("events of the same second stay in their order of arrival")
    func sameSecond() async {
        await load(Given.room("a"), Given.room("b"), Given.room("c"))
        for id in ["b", "c", "a"] { list.apply(Given.elements(.updated, "e", in: id, at: 50, count: 1, rev: 1)) }
        // Fetches do not matter here, so they are held.
        server.hold()
        await clock.advance(by: RoomCountManager.interval)
        #expect(ids == ["a", "c", "b"])
    }
}
