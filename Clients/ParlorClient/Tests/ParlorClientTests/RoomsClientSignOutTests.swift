import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of what a client does with the tokens after its person has signed out, and another person has signed in.
@MainActor
@Suite("RoomsClient: signing out, and who signs in next", .timeLimit(.minutes(1)))
struct RoomsClientSignOutTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let device: ScriptedDevice
    private let tokens: SessionTokens
    private let temporary = TemporaryFolder()

    init() async throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        device = server.makeDevice()
        tokens = try SessionTokens(
            keptIn: MemorySessionStore(try server.makeSession(of: ada)), accounts: AccountsAPI(transport: device),
            clock: clock)
    }

    private func makeClient(http: any HTTPTransport) -> RoomsClient {
        device.makeClient(of: ada, folder: temporary.url, tokens: tokens, http: http)
    }

    @Test(
        "a repeated sign-out deletes what is left, and signs nobody out who has signed in since",
        arguments: [false, true])
    func repeated(isSamePerson: Bool) async throws {
        let client = makeClient(http: device)
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        client.local.folder.removeFile = { _ in throw CocoaError(.fileWriteNoPermission) }
        await #expect(throws: CocoaError.self) { try await client.signOut() }
        let next = try server.makeSession(of: isSamePerson ? ada : ben)
        await tokens.use(next)
        client.local.folder.removeFile = { try FileManager.default.removeItem(at: $0) }
        try await client.signOut()
        #expect(await tokens.session == next)
        await tokens.settleEnding()
        #expect(server.sessionCount(of: next.user.id) == 1)
        let left = try? FileManager.default.subpathsOfDirectory(atPath: temporary.url.path)
        #expect(left ?? [] == [], "no folder is as good")
    }

    @Test(
        "a request in progress at the sign-out is not repeated with another person's token", arguments: [false, true])
    func inProgress(isSamePerson: Bool) async throws {
        let gate = Gate()
        let refusal = #"{"error":{"code":"unauthenticated","message":"No.","requestId":"r"}}"#
        // A second request would make the test fail.
        let http = ScriptedHTTP([.answer("GET /api/users/me", refusal, status: 401, gate: gate)])
        let client = makeClient(http: http)
        let asking = Task { try await client.api.me() }
        await gate.isReached()
        try await client.signOut()
        await tokens.use(try server.makeSession(of: isSamePerson ? ada : ben))
        await gate.open()
        await #expect(throws: ClientFailure.signedOut) { try await asking.value }
        await #expect(throws: ClientFailure.signedOut) { try await client.api.me() }
    }

    @Test("a stopped client has no token while somebody else is signed in, and has one once its person is again")
    func somebodyElse() async throws {
        let client = makeClient(http: device)
        await tokens.use(try server.makeSession(of: ben))
        await #expect(throws: ClientFailure.signedOut) { try await client.api.me() }
        await client.start()
        await lookUntil { client.connection == .ended(.signedOut) }
        await tokens.use(try server.makeSession(of: ada))
        #expect(try await client.api.me().id == ada.id)
        await client.enterForeground()
        await lookUntil { client.connection == .connected }
        await client.stop()
    }

    /// The tokens of an app that signs in elsewhere, and cannot store the first sign-out.
    private actor FailingTokens: TokenProvider {
        private(set) var devices: [String?] = []

        func token() async throws -> String { "token" }
        func token(replacing refused: String) async throws -> String { throw ClientFailure.signedOut }

        func signOut(device token: String?) async throws {
            devices.append(token)
            if devices.count == 1 { throw CocoaError(.fileWriteOutOfSpace) }
        }
    }

    @Test("a sign-out that an app's own tokens could not store is tried again by the next, and only by that")
    func ownTokens() async throws {
        let tokens = FailingTokens()
        let client = device.makeClient(of: ada, folder: temporary.url, tokens: tokens)
        await #expect(throws: CocoaError.self) { try await client.signOut() }
        try await client.signOut()
        try await client.signOut()
        #expect(await tokens.devices == [nil, nil])
    }

    /// A store that can be full.
    private final class FullStore: SessionStore {
        let isFull = Guarded(false)
        private let stored = Guarded(KeptSessions())

        func load() throws -> KeptSessions { stored.withLock { $0 } }

        func save(_ sessions: KeptSessions) throws {
            if isFull.withLock({ $0 }) { throw CocoaError(.fileWriteOutOfSpace) }
            stored.withLock { $0 = sessions }
        }
    }

    @Test("a sign-out that could not be stored is completed without the end of the same person's next session")
    func samePersonAfterFailure() async throws {
        let store = FullStore()
        let tokens = try SessionTokens(keptIn: store, accounts: AccountsAPI(transport: device), clock: clock)
        await tokens.use(try server.makeSession(of: ada))
        let client = device.makeClient(of: ada, folder: temporary.url, tokens: tokens)
        store.isFull.withLock { $0 = true }
        await #expect(throws: CocoaError.self) { try await client.signOut() }
        let next = try server.makeSession(of: ada)
        await tokens.use(next)
        store.isFull.withLock { $0 = false }
        try await client.signOut()
        #expect(await tokens.session == next)
        #expect(try store.load().current == next)
    }

    @Test("a sign-out of a client whose person is not signed in ends nobody's session")
    func notSignedIn() async throws {
        let client = makeClient(http: device)
        let his = try server.makeSession(of: ben)
        await tokens.use(his)
        try await client.signOut()
        #expect(await tokens.session == his)
    }
}
