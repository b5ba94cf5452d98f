import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("A list on a scripted server", .timeLimit(.minutes(1)))
struct ListOnServerTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, bob): (Person, Person)
    private let room: String
    private let phone: ScriptedDevice
    private let client: RoomsClient
    private var list: RoomList { client.rooms }

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, bob) = (server.addPerson("ada"), server.addPerson("bob"))
        room = try server.makeRoom(by: ada.id, with: bob.id)
        phone = server.makeDevice()
        client = phone.makeClient(of: ada, folder: folder.url)
    }

    /// Connects and loads the list, and lets so much time pass that later events are surely not part of that answer.
    private func start() async {
        await client.start()
        await until { client.connection == .connected && list.isLoaded }
        await clock.advance(by: .seconds(10))
    }

    private func open() async throws -> Conversation {
        let conversation = client.openConversation(try #require(list[room]))
        await until { conversation.isVerified }
        return conversation
    }

    @Test("an element created during a leave is seen until the server has left the room")
    func leaving() async throws {
        await start()
        let conversation = try await open()
        let leaving = Task { await client.local.conversations.close(conversation) }
        // When the event comes, the list has begun to leave the room, but the server has not.
        try server.addElement(in: room, by: bob.id)
        await leaving.value
        await clock.advance(by: .seconds(5))
        #expect(list[room]?.elementCount == 1)
        #expect(list[room]?.badges.elements == 0)
        try server.addElement(in: room, by: bob.id)
        await clock.advance(by: .seconds(5))
        #expect(list[room]?.badges.elements == 1)
        await client.stop()
    }

    @Test("a creation repeated after a lost answer returns the first room; after an answer, another")
    func makingOnce() async throws {
        await start()
        phone.loseNextAnswer()
        await #expect(throws: ClientFailure.self) { try await list.makeRoom(with: bob.id, name: "Plans") }
        let made = try await list.makeRoom(with: bob.id, name: "Plans")
        #expect(list.rooms.filter { $0.name == "Plans" }.map(\.id) == [made.id])
        let another = try await list.makeRoom(with: bob.id, name: "Plans")
        #expect(another.id != made.id)
        #expect(list.rooms.count == 3)
        await client.stop()
    }

    @Test("a creation repeated long after a lost answer makes another room")
    func makingLater() async throws {
        await start()
        phone.loseNextAnswer()
        await #expect(throws: ClientFailure.self) { try await list.makeRoom(with: bob.id) }
        await clock.advance(by: .seconds(301))
        await until { list.rooms.count == 2 }
        let before = Set(list.rooms.map(\.id))
        let another = try await list.makeRoom(with: bob.id)
        #expect(!before.contains(another.id) && list.rooms.count == 3)
        await client.stop()
    }

    @Test("in a room that is opened and closed before the server knows, elements stay unseen")
    func openedShortly() async throws {
        await start()
        try server.addElement(in: room, by: bob.id)
        await until { list[room]?.badges.elements == 1 }
        await clock.advance(by: .seconds(5))
        let conversation = client.openConversation(try #require(list[room]))
        #expect(list[room]?.badges.elements == 0)
        await client.local.conversations.close(conversation)
        await clock.wake(.milliseconds(100))
        await until { list[room]?.badges.elements == 1 }
        #expect(!phone.requests.contains("room:join"))
        await client.stop()
    }

    @Test("in the foreground, a list older than five minutes is fetched again")
    func foreground() async throws {
        await start()
        func asked() -> Int { phone.requests.count { $0 == "GET /api/rooms/my-rooms" } }
        await client.enterForeground()
        await clock.advance(by: .seconds(1))
        let before = asked()
        await clock.advance(by: .seconds(280))
        await client.enterForeground()
        #expect(asked() == before)
        await clock.advance(by: .seconds(20))
        await client.enterForeground()
        #expect(asked() == before + 1)
        await client.stop()
    }

    @Test("a room that the person was removed from disappears with its next event", arguments: [false, true])
    func gone(isOpen: Bool) async throws {
        await start()
        let other = try server.makeRoom(by: bob.id, with: ada.id)
        await until { list.rooms.count == 2 }
        if isOpen { _ = try await open() }
        await clock.advance(by: .seconds(10))
        server.remove(ada.id, from: room)
        try server.post("without you", in: room, by: bob.id)
        await clock.advance(by: .seconds(1))
        #expect(list.rooms.map(\.id) == [other])
        #expect(list.counts.latest(of: room) == nil)
        await client.stop()
    }

    @Test("own elements are seen, deletions do not lower the unseen count, and entering resets it")
    func counts() async throws {
        await start()
        func shown() -> [Int?] { [list[room]?.elementCount, list[room]?.badges.elements] }
        let first = try server.addElement(in: room, by: bob.id)
        for _ in 1...2 { try server.addElement(in: room, by: bob.id) }
        try server.addElement(in: room, by: ada.id)
        await clock.advance(by: .seconds(5))
        #expect(shown() == [4, 3])
        try server.deleteElement(first, in: room, by: bob.id)
        await clock.advance(by: .seconds(5))
        #expect(shown() == [3, 3])
        try server.clear(room, by: bob.id)
        await clock.advance(by: .seconds(5))
        #expect(shown() == [0, 3])
        let conversation = try await open()
        await clock.advance(by: .seconds(5))
        #expect(shown() == [0, 0])
        try server.addElement(in: room, by: bob.id)
        await clock.advance(by: .seconds(5))
        #expect(shown() == [1, 0])
        await client.local.conversations.close(conversation)
        await client.stop()
    }

    @Test("rooms are sorted by messages or content as events arrive, and people by both")
    func orders() async throws {
        let cleo = server.addPerson("cleo")
        let silent = try server.makeRoom(by: cleo.id, with: ada.id, name: "Silent")
        await start()
        await list.peopleWithoutRooms.search("")
        #expect(list.peopleWithoutRooms.people.isEmpty)
        try server.post("Hello", in: room, by: bob.id)
        await clock.advance(by: .seconds(2))
        try server.rename(silent, to: "Quiet", by: cleo.id)
        await clock.advance(by: .seconds(2))
        #expect(list.rooms.map(\.id) == [silent, room])
        list.order = .messages
        #expect(list.rooms.map(\.id) == [room, silent])
        list.order = .content
        #expect(list.rooms.map(\.id) == [silent, room])
        #expect(list.people.map(\.person.username) == ["cleo", "bob"])
        try server.post("Again", in: room, by: bob.id)
        try server.addElement(in: room, by: bob.id)
        await clock.advance(by: .seconds(2))
        #expect(list.rooms.map(\.id) == [room, silent])
        #expect(list.people.map(\.person.username) == ["bob", "cleo"])
        #expect(list.people.first?.rooms.map(\.id) == [room])
        let dan = server.addPerson("dan")
        await list.peopleWithoutRooms.search("")
        #expect(list.peopleWithoutRooms.people.map(\.id) == [dan.id])
        try server.makeRoom(by: dan.id, with: ada.id)
        await until { list.peopleWithoutRooms.people.isEmpty }
        await client.stop()
    }
}
