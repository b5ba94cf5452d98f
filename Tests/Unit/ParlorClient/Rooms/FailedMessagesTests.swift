import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("The list of rooms: messages that are not sent", .timeLimit(.minutes(1)))
struct FailedMessagesTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let roomID: String
    private let device: ScriptedDevice
    private let ada: Person
    private let temporary = TemporaryFolder()

    init() throws {
        server = ScriptedServer(clock: clock)
        ada = server.addPerson("ada")
        roomID = try server.makeRoom(by: ada.id, with: server.addPerson("ben").id)
        device = server.makeDevice()
    }

    private func makeClient() throws -> RoomsClient {
        RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: device, sockets: device, clock: clock,
            folder: temporary.url)
    }

    /// Starts the client, and sends a message that the server refuses after its room was closed.
    private func clientWithFailure() async throws -> RoomsClient {
        let client = try makeClient()
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        conversation.send("Never")
        await client.close(conversation)
        await lookUntil { !client.rooms.failedRoomIDs.isEmpty }
        #expect(client.rooms.failedRoomIDs == [roomID])
        return client
    }

    @Test("a room that is closed tells of a refused message, also after a restart, until it is sent again")
    func retried() async throws {
        await (try clientWithFailure()).stop()
        let client = try makeClient()
        await client.start()
        await lookUntil { client.rooms.isLoaded && client.rooms.failedRoomIDs == [roomID] }
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.items.count == 1 }
        await conversation.retry(try #require(conversation.items.first).id)
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await lookUntil { conversation.items.first?.message != nil }
        await client.stop()
    }

    @Test("a discarded message is no failure any more")
    func discarded() async throws {
        let client = try await clientWithFailure()
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.items.count == 1 }
        #expect(await conversation.discard(try #require(conversation.items.first).id))
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
        await client.stop()
    }

    @Test("a sign-out takes the failures away")
    func signedOut() async throws {
        let client = try await clientWithFailure()
        try await client.signOut()
        await lookUntil { client.rooms.failedRoomIDs.isEmpty }
    }
}
