import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests with expired tokens and a lost history, on a scripted server.
@MainActor
@Suite("RoomsClient: recovery", .timeLimit(.minutes(1)))
struct RoomsClientRecoveryTests {
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
            sockets: device, clock: clock,
            folder: folder.url)
    }

    private var refreshes: Int { device.requests.count { $0 == "POST /api/auth/refresh" } }

    private func connect() async {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await TestClock.settle()
    }

    @Test("a refused token is replaced once, for the socket and all calls")
    func refusedToken() async throws {
        await connect()
        server.expireTokens()
        async let rooms = client.api.myRooms().rooms
        async let room = client.api.room(roomID).room
        await client.enterForeground()
        await lookUntil { client.connection == .connected && device.socketCount == 1 }
        #expect(try await rooms.map(\.id) == [roomID])
        #expect(try await room.id == roomID)
        await TestClock.settle()
        #expect(refreshes == 1)
        await client.stop()
    }

    @Test("a token that expires within a minute is replaced before the socket connects")
    func endingToken() async throws {
        await connect()
        await clock.advance(by: .seconds(14 * 60 + 30))
        #expect(refreshes == 0)
        device.dropSockets()
        await lookUntil { client.connection != .connected }
        await client.enterForeground()
        await lookUntil { client.connection == .connected }
        #expect(refreshes == 1)
        await client.stop()
    }

    @Test("after a forced sign-out, signing in again continues with the same client, and sends what waits")
    func signingInAgain() async throws {
        await connect()
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        server.expireTokens()
        await client.enterForeground()
        await lookUntil { client.connection == .ended(.signedOut) }
        conversation.send("Hello")
        await lookUntil { conversation.items.count == 1 }
        await tokens.use(try server.makeSession(of: ada))
        await client.start()
        await lookUntil { conversation.items.last?.state == .stored }
        #expect(server.texts(in: roomID) == ["Hello"])
        await client.stop()
    }

    @Test(
        "a firewall or login page that answers for the server signs nobody out, and fails nothing permanently",
        arguments: [200, 400, 401, 403, 404])
    func intercepted(status: Int) async throws {
        await connect()
        server.expireTokens()
        device.interceptNextRequests(3, with: Data("<html>".utf8), status: status)
        await lookUntil { client.connection != .connected }
        await clock.advance(by: .seconds(60))
        await lookUntil { client.connection == .connected }
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        device.interceptNextRequests(with: Data("<html>".utf8), status: status)
        device.loseNextRequests()
        conversation.send("Hello")
        await lookUntil { conversation.items.last?.state == .queued }
        await clock.advance(by: .seconds(60))
        await lookUntil { conversation.items.last?.state == .stored }
        #expect(server.texts(in: roomID) == ["Hello"])
        await client.stop()
    }

    @Test("if the server cannot replay missed events, the room and the list are fetched again")
    func forgotten() async throws {
        await connect()
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        let first = try server.post("missed", in: roomID, by: ben.id)
        try server.post("missed too", in: roomID, by: ben.id)
        try server.deleteMessage(first, in: roomID, by: ben.id)
        try server.rename(roomID, to: "Trips", by: ben.id)
        server.forgetHistory()
        device.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { conversation.items.map(\.text) == ["missed too"] && conversation.isVerified }
        await lookUntil { client.rooms[roomID]?.displayName == "Trips" }
        await client.stop()
    }
}
