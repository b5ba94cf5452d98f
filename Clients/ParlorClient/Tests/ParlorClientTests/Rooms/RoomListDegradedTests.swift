import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests with an unavailable service.
extension RoomListTests {
    @Test("counts of an unavailable service stay, and all rooms are fetched until it is available again")
    func degraded() async {
        await load(
            Given.room(
                "a", messagesUpdatedAt: 5, elements: 3, badges: .init(messages: 2, elements: 1), last: Given.last("m2"))
        )
        server.set(Given.room("a", badges: .init(messages: 4)))
        server.set(Given.room("b", elements: 7))
        server.degraded = ["elements"]
        await list.refresh()
        #expect(list["a"]?.elementCount == 3)
        #expect(list["a"]?.badges == .init(messages: 4, elements: 1))
        #expect(list["a"]?.lastMessage == nil)
        // The list knows no other value for room b.
        #expect(list["b"]?.elementCount == 7)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 3)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 3)
        server.set(Given.room("a", elements: 5, badges: .init(elements: 3)))
        server.degraded = []
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 4)
        #expect(list["a"]?.badges == .init(elements: 3))
        #expect(list["a"]?.elementCount == 5)
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["rooms", "rooms", "rooms", "rooms"])
    }

    @Test("an answer with one room degrades the same way; services without shown fields are not awaited")
    func degradedRoom() async {
        let last = Given.last("m2", at: 5)
        await load(Given.room("a", messagesUpdatedAt: 5, elements: 3, badges: .init(messages: 2), last: last))
        server.set(Given.room("a", updatedAt: 20, elements: 5))
        server.degraded = ["messaging"]
        list.apply(Given.elements(.updated, "e1", in: "a", at: 20, count: 5, rev: 1))
        list.apply(.roomUpdatedGlobal(roomID: "a", updatedBy: "bob", updatedAt: Given.at(20)))
        await untilFetched()
        #expect(list["a"]?.badges == .init(messages: 2))
        #expect(list["a"]?.elementCount == 5)
        #expect(list["a"]?.lastMessage == last)
        #expect(server.calls == ["rooms", "room a"])
        server.set(Given.room("a", updatedAt: 20, elements: 5, badges: .init(messages: 1)))
        server.degraded = ["polls"]
        await clock.advance(by: .seconds(1))
        #expect(list["a"]?.badges == .init(messages: 1))
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["rooms", "room a", "rooms"])
    }

    @Test("values of other services arrive without delay while one is unavailable")
    func otherParts() async {
        await load(Given.room("a", elements: 3))
        server.degraded = ["elements"]
        await list.refresh()
        // After this time the pauses are long.
        await clock.advance(by: .seconds(100))
        server.set(Given.room("a", messagesUpdatedAt: 20, last: Given.last("m1")))
        list.apply(Given.newGlobal("m1", in: "a", at: 20))
        await untilFetched()
        #expect(list["a"]?.lastMessage?.id == "m1")
        #expect(list["a"]?.elementCount == 3)
    }

    @Test("the list is not fetched for missing fields before the server's Retry-After")
    func degradedPause() async {
        await load(Given.room("a", elements: 3))
        server.degraded = ["elements"]
        await list.refresh()
        server.failure = refusal("rate_limited", isRetryable: true, retryAfter: .seconds(40))
        await clock.advance(by: .seconds(1))
        server.failure = nil
        #expect(server.calls.count == 3)
        await clock.advance(by: .seconds(39))
        #expect(server.calls.count == 3)
        await clock.advance(by: .seconds(1))
        #expect(server.calls.count == 4)
    }
}
