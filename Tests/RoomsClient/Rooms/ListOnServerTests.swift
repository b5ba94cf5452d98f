import Foundation
import RoomsClient
import RoomsClientTesting
import Testing

@MainActor
@Suite("A list of rooms and a scripted server", .timeLimit(.minutes(1)))
struct ListOnServerTests {
    private let clock = TestClock()
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
        client = RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: phone, sockets: phone, clock: clock,
            folder: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString))
    }

    /// Connected and loaded, and long enough ago that no answer is doubtful.
    private func start() async {
        await client.start()
        await untilShown { client.connection == .connected && list.isLoaded }
        await clock.advance(by: .seconds(10))
    }

    private func open() async throws -> Conversation {
        let conversation = client.open(try #require(list[room]))
        await untilShown { conversation.isVerified }
        return conversation
    }

    @Test("an element that comes while one leaves is seen as long as the server has not left")
    func leaving() async throws {
        await start()
        let conversation = try await open()
        let leaving = Task { await client.close(conversation) }
        // Its first step comes before the event's: the list has left, and the server has not.
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

    @Test("a room is made once, however often its answer is lost and somebody taps again; then another is another")
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
}
