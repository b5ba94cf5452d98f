import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the server's DISCONNECT, which says only that the client must not come back.
@MainActor
@Suite("RoomsClient: dismissed by the server", .timeLimit(.minutes(1)))
struct RoomsClientDismissalTests {
    private let home: AdasDevice
    private let tokens: SessionTokens
    private let client: RoomsClient

    init() throws {
        home = try AdasDevice()
        tokens = try home.makeTokens()
        client = home.makeClient(tokens: tokens)
    }

    private func signInAgain() async throws {
        await tokens.use(try home.server.makeSession(of: home.ada))
        await client.start()
    }

    @Test("a message in flight when the session ends waits, and is sent once after the next sign-in")
    func message() async throws {
        let conversation = try await home.openRoom(with: client)
        home.device.holdAcks()
        home.device.holdEvents(named: ["message:new"])
        conversation.send("Hello")
        await lookUntil { home.device.requests.contains("message:send") }
        home.server.endSessions(of: home.ada.id)
        await lookUntil { client.connection == .ended(.signedOut) }
        await lookUntil { conversation.items.map(\.state) == [.queued] }
        home.device.release()
        try await signInAgain()
        await lookUntil { conversation.items.map(\.state) == [.stored] }
        #expect(home.server.texts(in: home.roomID) == ["Hello"])
        await client.stop()
    }

    @Test("a room whose join was in progress when the session ended is joined after the next sign-in")
    func join() async throws {
        let conversation = try await home.openRoom(with: client)
        home.device.dropSockets()
        await lookUntil { client.connection != .connected }
        home.device.holdAcks()
        let joins = home.device.requests.count { $0 == "room:join" }
        await client.enterForeground()
        await lookUntil { home.device.requests.count { $0 == "room:join" } > joins }
        home.server.endSessions(of: home.ada.id)
        await lookUntil { client.connection == .ended(.signedOut) }
        home.device.release()
        try await signInAgain()
        await lookUntil { client.connection == .connected && conversation.isVerified }
        await lookUntil { home.device.requests.count { $0 == "room:join" } > joins + 1 }
        try home.server.post("Anybody here?", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.last?.text == "Anybody here?" }
        await client.stop()
    }

    @Test("the end of the session is noticed also if the token was renewed since the connection was made")
    func renewedSince() async throws {
        _ = try await home.openRoom(with: client)
        _ = try await tokens.token(replacing: try await tokens.token())
        home.server.endSessions(of: home.ada.id)
        await lookUntil { if case .ended = client.connection { true } else { false } }
        #expect(client.connection == .ended(.signedOut))
        await client.stop()
    }

    @Test("a client with a valid session that the server dismisses waits for a start")
    func tooManySockets() async throws {
        _ = try await home.openRoom(with: client)
        home.server.dismissSockets(of: home.ada.id)
        await lookUntil { client.connection == .ended(SocketLink.dismissal) }
        #expect(await tokens.session != nil)
        await client.start()
        await lookUntil { client.connection == .connected }
        await client.stop()
    }
}
