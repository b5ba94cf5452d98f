import Foundation
import RoomsClient
import RoomsClientTesting
import Testing

/// All of it together, on the scripted server.
@MainActor
@Suite("RoomsClient", .timeLimit(.minutes(1)))
struct RoomsClientTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
    }

    private func makeClient(on device: ScriptedDevice) throws -> RoomsClient {
        RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: device, sockets: device, clock: clock,
            folder: folder)
    }

    private func until(_ isSo: @MainActor () -> Bool) async { await untilShown(isSo) }

    @Test("from a start to a live list: rooms come, an event moves one up and counts, opening it shows its messages")
    func journey() async throws {
        let device = server.makeDevice()
        let client = try makeClient(on: device)
        let other = try server.makeRoom(by: ben.id, with: ada.id, name: "Trips")
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        #expect(client.rooms.rooms.map(\.id) == [other, roomID])

        try server.post("Hello", in: roomID, by: ben.id)
        await until { client.rooms.rooms.first?.id == roomID }
        await until { client.rooms[roomID]?.badges.messages == 1 }

        let room = try #require(client.rooms[roomID])
        let conversation = client.open(room)
        #expect(client.open(room) === conversation)
        await until { conversation.isVerified }
        #expect(conversation.items.map(\.text) == ["Hello"])
        conversation.send("Hi!")
        await until { conversation.items.last?.state == .stored }
        #expect(server.texts(in: roomID) == ["Hello", "Hi!"])
        await client.close(conversation)
        await client.stop()
        try await client.signOut()
    }

    @Test("what was typed in airplane mode is sent after the app was killed and has come back")
    func offline() async throws {
        let device = server.makeDevice()
        device.setAirplaneMode(true)
        let client = try makeClient(on: device)
        await client.start()
        await until { if case .waiting = client.connection { true } else { false } }
        let room = Room(
            id: roomID, displayName: "Plans", createdBy: ada.id, createdAt: clock.now, updatedAt: clock.now,
            lastActivityAt: clock.now)
        let conversation = client.open(room)
        for number in 1...3 { conversation.send("number \(number)") }
        #expect(conversation.items.map(\.state) == [.queued, .queued, .queued])
        while await client.outbox.messages(in: roomID).count < 3 { await Task.yield() }
        await client.outbox.stop()
        await client.stop()

        device.setAirplaneMode(false)
        let again = try makeClient(on: device)
        await again.start()
        while server.texts(in: roomID).count < 3 { await Task.yield() }
        #expect(server.texts(in: roomID) == ["number 1", "number 2", "number 3"])
        try await again.signOut()
        #expect(await again.outbox.messages(in: roomID).isEmpty)
    }
}
