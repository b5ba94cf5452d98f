import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("PeopleWithoutRooms", .timeLimit(.minutes(1))) @MainActor
struct PeopleWithoutRoomsTests {
    private let server = FakeRoomServer()
    private let clock = TestClock()
    private let list: RoomList
    private var people: PeopleWithoutRooms { list.peopleWithoutRooms }

    init() { list = RoomList(for: "me", from: server, clock: clock, random: { 1 }) }

    private func page(_ names: String..., next: String? = nil) -> Page<Person> {
        Page(items: names.map { Person(id: $0, username: $0) }, next: next)
    }

    @Test("people are loaded page by page, each once")
    func pages() async {
        server.pages = ["people ": page("ann", "bob", next: "bob"), "people  from bob": page("bob", "cy")]
        await people.search("")
        #expect(people.hasMore)
        await people.loadMore()
        #expect(people.people.map(\.id) == ["ann", "bob", "cy"])
        #expect(!people.hasMore)
        await people.loadMore()
        #expect(server.calls.count == 2)
    }

    @Test("only the latest search is shown, and those in between are not sent")
    func latest() async {
        server.pages = ["people a": page("ann"), "people anna": page("anna")]
        server.hold()
        let first = Task { await people.search("a") }
        await server.untilCalled(1)
        let second = Task { await people.search("an") }
        await TestClock.settle()
        let third = Task { await people.search(" anna ") }
        await TestClock.settle()
        #expect(server.calls == ["people a"])
        server.release()
        for task in [first, second, third] { await task.value }
        #expect(server.calls == ["people a", "people anna"])
        #expect(people.people.map(\.id) == ["anna"])
        #expect(!people.isLoading)
    }

    @Test("people are not of the current search if it ended before its answer, and are again after the next")
    func current() async {
        server.pages = ["people b": page("bob"), "people ": page("ann", "bob")]
        #expect(!people.isCurrent)
        await people.search("b")
        #expect(people.isCurrent)
        server.hold()
        let search = Task { await people.search("") }
        await server.untilCalled(2)
        people.endSearch()
        server.release()
        await search.value
        #expect(people.prefix == "" && people.people.map(\.id) == ["bob"])
        #expect(!people.isCurrent)
        await people.search("")
        #expect(people.isCurrent && people.people.map(\.id) == ["ann", "bob"])
        server.failure = .offline("away")
        await people.search("b")
        #expect(!people.isCurrent)
    }

    @Test("a failed load keeps the list, and sets the failure")
    func failing() async {
        server.pages = ["people ": page("ann")]
        await people.search("")
        server.failure = .offline("away")
        await people.search("b")
        #expect(people.people.map(\.id) == ["ann"])
        #expect(people.failure == .offline("away"))
    }

    @Test("a failed search does not continue another search's results")
    func failingPages() async {
        server.pages = ["people ": page("ann", next: "ann"), "people b from ann": page("bob")]
        await people.search("")
        server.failure = .offline("away")
        await people.search("b")
        #expect(!people.hasMore)
        server.failure = nil
        await people.loadMore()
        #expect(server.calls == ["people ", "people b"])
        #expect(people.people.map(\.id) == ["ann"])
    }

    @Test("a failed page is asked for again by itself, after growing pauses and the server's Retry-After")
    func retrying() async {
        server.pages = ["people ": page("ann", next: "ann"), "people  from ann": page("bob")]
        await people.search("")
        server.failure = .offline("away")
        await people.loadMore()
        await clock.advance(by: .seconds(1))
        server.failure = refusal("rate_limited", isRetryable: true, retryAfter: .seconds(20))
        await clock.advance(by: .seconds(2))
        #expect(server.calls.count == 4 && people.failure != nil)
        server.failure = nil
        await clock.advance(by: .seconds(19))
        #expect(server.calls.count == 4)
        await clock.advance(by: .seconds(1))
        #expect(people.people.map(\.id) == ["ann", "bob"] && people.failure == nil)
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["people "] + Array(repeating: "people  from ann", count: 4))
    }

    @Test("neither a search that another has replaced nor one that is refused for good is repeated")
    func notRetrying() async {
        server.pages = ["people b": page("bob")]
        server.failure = .offline("away")
        await people.search("a")
        server.failure = nil
        await people.search("b")
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["people a", "people b"])
        server.failure = refusal("invalid_field")
        await people.search("c")
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["people a", "people b", "people c"] && people.failure != nil)
    }

    @Test("an ended search is neither shown nor repeated; the next one and the next page go on")
    func ending() async {
        server.pages = [
            "people ": page("ann", next: "ann"), "people  from ann": page("bob"), "people c": page("cy"),
        ]
        await people.search("")
        server.failure = .offline("away")
        await people.loadMore()
        people.endSearch()
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["people ", "people  from ann"])
        server.failure = nil
        await people.loadMore()
        #expect(people.people.map(\.id) == ["ann", "bob"])
        server.hold()
        let searching = Task { await people.search("c") }
        await server.untilCalled(4)
        people.endSearch()
        server.release()
        await searching.value
        #expect(people.people.map(\.id) == ["ann", "bob"] && !people.isLoading)
        await people.search("c")
        #expect(people.people.map(\.id) == ["cy"])
    }

    @Test("a stopped client asks for nothing again")
    func stopped() async {
        server.failure = ClientFailure.stopped
        await people.search("")
        await clock.advance(by: .seconds(60))
        #expect(server.calls == ["people "] && people.failure == ClientFailure.stopped)
    }

    @Test("a person with a new room is removed from the list, and does not return with a late answer")
    func leavingOut() async {
        server.pages = ["people ": page("ann", "bob", next: "bob"), "people  from bob": page("cy")]
        await people.search("")
        list.apply(.roomCreated(Given.room("r", with: ["bob"])))
        #expect(people.people.map(\.id) == ["ann"])
        server.hold()
        let loading = Task { await people.loadMore() }
        await server.untilCalled(2)
        list.apply(.roomCreated(Given.room("s", with: ["cy"])))
        server.release()
        await loading.value
        #expect(people.people.map(\.id) == ["ann"])
    }
}
