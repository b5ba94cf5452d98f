import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests with expired tokens and a lost history, on a scripted server.
@MainActor
@Suite("RoomsClient: recovery", .timeLimit(.minutes(1)))
struct RoomsClientRecoveryTests {
    private let home: AdasDevice
    private let tokens: SessionTokens
    private let client: RoomsClient

    init() throws {
        home = try AdasDevice()
        tokens = try home.makeTokens()
        client = home.makeClient(tokens: tokens)
    }

    private var refreshes: Int { home.device.requests.count { $0 == "POST /api/auth/refresh" } }

    @Test("a refused token is replaced once, for the socket and all calls")
    func refusedToken() async throws {
        await home.connect(client)
        home.server.expireTokens()
        async let rooms = client.api.myRooms().rooms
        async let room = client.api.room(home.roomID).room
        await client.enterForeground()
        await lookUntil { client.connection == .connected && home.device.socketCount == 1 }
        #expect(try await rooms.map(\.id) == [home.roomID])
        #expect(try await room.id == home.roomID)
        await TestClock.settle()
        #expect(refreshes == 1)
        await client.stop()
    }

    @Test("a token that expires within a minute is replaced before the socket connects")
    func endingToken() async throws {
        await home.connect(client)
        await home.clock.advance(by: .seconds(14 * 60 + 30))
        #expect(refreshes == 0)
        home.device.dropSockets()
        await lookUntil { client.connection != .connected }
        await client.enterForeground()
        await lookUntil { client.connection == .connected }
        #expect(refreshes == 1)
        await client.stop()
    }

    @Test("after a forced sign-out, signing in again continues with the same client, and sends what waits")
    func signingInAgain() async throws {
        let conversation = try await home.openRoom(with: client)
        home.server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        home.server.expireTokens()
        await client.enterForeground()
        await lookUntil { client.connection == .ended(.signedOut) }
        conversation.send("Hello")
        await lookUntil { conversation.items.count == 1 }
        await tokens.use(try home.server.makeSession(of: home.ada))
        await client.start()
        await lookUntil { conversation.items.last?.state == .stored }
        #expect(home.server.texts(in: home.roomID) == ["Hello"])
        await client.stop()
    }

    @Test(
        "a firewall or login page that answers for the server signs nobody out, and fails nothing permanently",
        arguments: [200, 400, 401, 403, 404])
    func intercepted(status: Int) async throws {
        await home.connect(client)
        home.server.expireTokens()
        home.device.interceptNextRequests(3, with: Data("<html>".utf8), status: status)
        await lookUntil { client.connection != .connected }
        await home.clock.advance(by: .seconds(60))
        await lookUntil { client.connection == .connected }
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        home.device.interceptNextRequests(with: Data("<html>".utf8), status: status)
        home.device.loseNextRequests()
        conversation.send("Hello")
        await lookUntil { conversation.items.last?.state == .queued }
        await home.clock.advance(by: .seconds(60))
        await lookUntil { conversation.items.last?.state == .stored }
        #expect(home.server.texts(in: home.roomID) == ["Hello"])
        await client.stop()
    }

    @Test("if the server cannot replay missed events, the room and the list are fetched again")
    func forgotten() async throws {
        let conversation = try await home.openRoom(with: client)
        home.device.setAirplaneMode(true)
        await lookUntil { client.connection != .connected }
        let first = try home.server.post("missed", in: home.roomID, by: home.ben.id)
        try home.server.post("missed too", in: home.roomID, by: home.ben.id)
        try home.server.deleteMessage(first, in: home.roomID, by: home.ben.id)
        try home.server.rename(home.roomID, to: "Trips", by: home.ben.id)
        home.server.forgetHistory()
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { conversation.items.map(\.text) == ["missed too"] && conversation.isVerified }
        await lookUntil { client.rooms[home.roomID]?.displayName == "Trips" }
        await client.stop()
    }
}
