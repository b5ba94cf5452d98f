import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of sessions that were signed out and that the server still has to end.
@Suite("Ending sessions", .timeLimit(.minutes(1)))
struct SessionEndingTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let network: ScriptedDevice
    private let store = MemoryStore()

    init() {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        network = server.makeDevice()
    }

    /// A store in memory. While it is locked, it fails to save.
    private final class MemoryStore: SessionStore {
        struct Locked: Error {}

        private struct State: Sendable {
            var kept = KeptSessions()
            var isLocked = false
        }

        private let state = Guarded(State())

        var kept: KeptSessions { state.withLock { $0.kept } }

        func setLocked(_ isLocked: Bool) { state.withLock { $0.isLocked = isLocked } }

        func load() throws -> KeptSessions { kept }

        func save(_ sessions: KeptSessions) throws {
            try state.withLock { state in
                if state.isLocked { throw Locked() }
                state.kept = sessions
            }
        }
    }

    /// Signs Ada in, and registers her phone for notifications.
    private func signedIn() async throws -> SessionTokens {
        let tokens = try SessionTokens(keptIn: store, accounts: AccountsAPI(transport: network), clock: clock)
        await tokens.use(try server.makeSession(of: ada))
        try await registerPhone(tokens)
        return tokens
    }

    private func registerPhone(_ tokens: SessionTokens) async throws {
        try await RoomsAPI(transport: network, tokens: tokens).registerDevice(token: "phone", environment: .production)
    }

    private func signOutOffline(_ tokens: SessionTokens) async throws {
        network.setAirplaneMode(true)
        try await tokens.signOut(device: "phone")
        // The first attempt failed, and a pause began.
        await clock.untilSleeping(1)
        network.setAirplaneMode(false)
    }

    @Test("a late end of a session keeps the device that the person has registered again")
    func lateEnd() async throws {
        let tokens = try await signedIn()
        try await signOutOffline(tokens)
        await tokens.use(try server.makeSession(of: ada))
        try await registerPhone(tokens)
        await tokens.noteConnection()
        await tokens.settleEnding()
        #expect(server.devices(of: ada.id) == ["phone"])
        #expect(server.sessionCount(of: ada.id) == 1)
        #expect(store.kept.ending.isEmpty)
    }

    @Test("signing in waits for an unregistration of the device that is in progress")
    func removalInProgress() async throws {
        let gate = Gate()
        let http = ScriptedHTTP([
            .answer("DELETE /api/devices/phone", "", status: 204, gate: gate),
            .answer("POST /api/auth/logout", "", status: 204),
        ])
        let tokens = try SessionTokens(keptIn: store, accounts: AccountsAPI(transport: http), clock: clock)
        await tokens.use(try server.makeSession(of: ada))
        try await tokens.signOut(device: "phone")
        await gate.isReached()
        let next = try server.makeSession(of: ada)
        let hasSignedIn = Guarded(false)
        let signingIn = Task {
            await tokens.use(next)
            hasSignedIn.withLock { $0 = true }
        }
        await TestClock.settle()
        #expect(!hasSignedIn.withLock { $0 })
        await gate.open()
        await signingIn.value
        await tokens.settleEnding()
        #expect(await http.missing.isEmpty)
        #expect(await tokens.session == next)
    }

    @Test("signing in shows that the server can be reached, so pending sessions are ended at once")
    func wake() async throws {
        let tokens = try await signedIn()
        try await signOutOffline(tokens)
        #expect(server.sessionCount(of: ada.id) == 1)
        await tokens.use(try server.makeSession(of: ben))
        // The clock stands still, so no pause has ended.
        await lookUntil { server.sessionCount(of: ada.id) == 0 }
        #expect(server.devices(of: ada.id) == [])
    }

    @Test("a session ends while push is unavailable, and the device is unregistered only once")
    func pushDown() async throws {
        let tokens = try await signedIn()
        server.refuseNext(
            "DELETE /api/devices/phone",
            with: Refusal(code: "service_unavailable", message: "Push is down.", isRetryable: true, status: 503))
        try await tokens.signOut(device: "phone")
        // The clock stands still, so no pause has ended.
        await lookUntil { server.sessionCount(of: ada.id) == 0 }
        await tokens.settleEnding()
        #expect(network.requests.count { $0 == "DELETE /api/devices/phone" } == 1)
        #expect(store.kept == KeptSessions())
    }

    @Test("a sign-out that the store fails to save throws, and is saved once possible", arguments: [false, true])
    func lockedStore(asksAgain: Bool) async throws {
        let tokens = try await signedIn()
        network.setAirplaneMode(true)
        store.setLocked(true)
        await #expect(throws: MemoryStore.Locked.self) { try await tokens.signOut(device: nil) }
        await #expect(throws: ClientFailure.signedOut) { try await tokens.token() }
        #expect(store.kept.current != nil)
        await clock.untilSleeping(1)
        store.setLocked(false)
        if asksAgain { try await tokens.signOut(device: nil) } else { await clock.advance(by: .seconds(31)) }
        #expect(store.kept.current == nil)
        #expect(store.kept.ending.map(\.session.user) == [ada])
        await clock.untilSleeping(1)
        network.setAirplaneMode(false)
        await tokens.noteConnection()
        await tokens.settleEnding()
        #expect(server.sessionCount(of: ada.id) == 0)
        #expect(store.kept == KeptSessions())
    }

    @Test("a permanently refused refresh, as of a suspended person, does not delay the end of other sessions")
    func suspended() async throws {
        let tokens = try await signedIn()
        await clock.advance(by: .seconds(16 * 60))
        // Every refresh of Ada's session is refused.
        for _ in 0..<8 {
            server.refuseNext(
                "POST /api/auth/refresh", with: Refusal(code: "forbidden", message: "You are suspended.", status: 403))
        }
        try await tokens.signOut(device: nil)
        await tokens.use(try server.makeSession(of: ben))
        try await tokens.signOut(device: nil)
        // The clock stands still, so no pause has ended.
        await lookUntil { server.sessionCount(of: ben.id) == 0 }
        await tokens.settleEnding()
        #expect(store.kept == KeptSessions())
    }

    @Test("a permanently refused end is not repeated, even after the token was renewed")
    func refusedForGood() async throws {
        let tokens = try await signedIn()
        let call = "POST /api/auth/logout"
        server.refuseNext(call, with: Refusal(code: "unauthenticated", message: "Sign in first.", status: 401))
        for _ in 0..<8 { server.refuseNext(call, with: Refusal(code: "forbidden", message: "No.", status: 403)) }
        try await tokens.signOut(device: nil)
        // The clock stands still, so no pause has ended.
        await lookUntil { store.kept == KeptSessions() }
        #expect(network.requests.count { $0 == call } == 2)
    }
}
