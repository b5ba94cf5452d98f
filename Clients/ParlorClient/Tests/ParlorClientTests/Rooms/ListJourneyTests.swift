import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("A list of rooms on a scripted server", .timeLimit(.minutes(1)))
struct ListJourneyTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()

    @Test("a list follows changes, also those during an absence")
    func list() async throws {
        let server = ScriptedServer(clock: clock)
        let (ada, bob) = (server.addPerson("ada"), server.addPerson("bob"))
        let room = try server.makeRoom(by: ada.id, with: bob.id)
        let phone = server.makeDevice()
        let client = phone.makeClient(of: ada, folder: folder.url)
        let list = client.rooms
        await client.start()
        await until { list.rooms.count == 1 && list.isLoaded }
        await clock.advance(by: .seconds(5))
        try server.post("hello", in: room, by: bob.id)
        await until { list[room]?.badges.messages == 1 }
        await clock.advance(by: .milliseconds(100))
        await until { list[room]?.lastMessage?.text == "hello" }
        let second = try server.makeRoom(by: bob.id, with: ada.id, name: "Two")
        await until { list[second]?.displayName == "Two" }
        phone.setAirplaneMode(true)
        await until { client.connection != .connected }
        try server.post("missed", in: room, by: bob.id)
        try server.addElement(in: second, by: bob.id)
        try server.rename(second, to: "Zwei", by: bob.id)
        phone.setAirplaneMode(false)
        await clock.advance(by: .seconds(40))
        await until { client.connection == .connected }
        await clock.advance(by: .seconds(2))
        await until { list[room]?.lastMessage?.text == "missed" && list[room]?.badges.messages == 2 }
        await until {
            list[second]?.displayName == "Zwei" && list[second]?.badges.elements == 1 && list[second]?.elementCount == 1
        }
        #expect(list.failure == nil)
        await client.stop()
    }
}
