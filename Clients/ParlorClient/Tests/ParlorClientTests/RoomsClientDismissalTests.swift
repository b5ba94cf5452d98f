import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the server's DISCONNECT, which says only that the client must not come back.
@MainActor
@Suite("RoomsClient: dismissed by the server", .timeLimit(.minutes(1)))
struct RoomsClientDismissalTests {
    private let clock = TestClock()
    private let folder = TemporaryFolder()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let device: ScriptedDevice
    private let tokens: SessionTokens
    private let client: RoomsClient

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
        tokens = SessionTokens(
            try server.makeSession(of: ada), accounts: AccountsAPI(transport: device), clock: clock, onChange: { _ in })
        client = RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada, tokens: tokens, http: device,
            sockets: device, clock: clock, folder: folder.url)
    }

    private func openRoom() async throws -> Conversation {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        return conversation
    }

    private func signInAgain() async throws {
        await tokens.use(try server.makeSession(of: ada))
        await client.start()
    }

    @Test("a message in flight when the session ends waits, and is sent once after the next sign-in")
    func message() async throws {
        let conversation = try await openRoom()
        device.holdAcks()
        device.holdEvents(named: ["message:new"])
        conversation.send("Hello")
        await lookUntil { device.requests.contains("message:send") }
        server.endSessions(of: ada.id)
        await lookUntil { client.connection == .ended(.signedOut) }
        await lookUntil { conversation.items.map(\.state) == [.queued] }
        device.release()
        try await signInAgain()
        await lookUntil { conversation.items.map(\.state) == [.stored] }
        #expect(server.texts(in: roomID) == ["Hello"])
        await client.stop()
    }

    @Test("a room whose join was in progress when the session ended is joined after the next sign-in")
    func join() async throws {
        let conversation = try await openRoom()
        device.dropSockets()
        await lookUntil { client.connection != .connected }
        device.holdAcks()
        let joins = device.requests.count { $0 == "room:join" }
        await client.enterForeground()
        await lookUntil { device.requests.count { $0 == "room:join" } > joins }
        server.endSessions(of: ada.id)
        await lookUntil { client.connection == .ended(.signedOut) }
        device.release()
        try await signInAgain()
        await lookUntil { client.connection == .connected && conversation.isVerified }
        await lookUntil { device.requests.count { $0 == "room:join" } > joins + 1 }
        try server.post("Anybody here?", in: roomID, by: ben.id)
        await lookUntil { conversation.items.last?.text == "Anybody here?" }
        await client.stop()
    }

    @Test("the end of the session is noticed also if the token was renewed since the connection was made")
    func renewedSince() async throws {
        _ = try await openRoom()
        _ = try await tokens.token(replacing: try await tokens.token())
        server.endSessions(of: ada.id)
        await lookUntil { if case .ended = client.connection { true } else { false } }
        #expect(client.connection == .ended(.signedOut))
        await client.stop()
    }

    @Test("a client with a valid session that the server dismisses waits for a start")
    func tooManySockets() async throws {
        _ = try await openRoom()
        server.dismissSockets(of: ada.id)
        await lookUntil { client.connection == .ended(SocketLink.dismissal) }
        #expect(await tokens.session != nil)
        await client.start()
        await lookUntil { client.connection == .connected }
        await client.stop()
    }
}
