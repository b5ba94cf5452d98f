import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@testable import ScreenModels

@MainActor
@Suite("Account", .timeLimit(.minutes(1)))
struct AccountTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let ada: Person
    private let phone: ScriptedDevice
    private let folder = TemporaryFolder()

    init() {
        server = ScriptedServer(clock: clock)
        ada = server.addPerson("ada", firstName: "Ada", password: "correct horse")
        phone = server.makeDevice()
    }

    /// As the app makes it at each start.
    private func makeAccount(
        _ store: (any SessionStore)? = nil, clearNotifications: @escaping @MainActor () async -> Void = {}
    ) throws -> Account {
        Account(
            server: try #require(URL(string: "https://chat.example")),
            store: store ?? FileSessionStore(url: folder.url.appending(path: "session")), folder: folder.url,
            http: phone, sockets: phone, clock: clock, clearNotifications: clearNotifications)
    }

    private func signIn(_ account: Account) async throws -> RoomsClient {
        await account.becomeActive()
        try await account.logIn(username: "ada", password: "correct horse")
        return try #require(account.client)
    }

    @Test("nobody is signed in at the first start, and a wrong password changes nothing")
    func refused() async throws {
        let account = try makeAccount()
        #expect(!account.isRestored)
        await account.becomeActive()
        #expect(account.isRestored && !account.isSignedIn)
        await #expect(throws: ClientFailure.self) {
            try await account.logIn(username: "ada", password: "correct cow")
        }
        #expect(account.client == nil)
    }

    @Test("who registers is signed in, also at the next start, and has the first name, if any")
    func registering() async throws {
        let account = try makeAccount()
        await account.becomeActive()
        try await account.register(username: "ben", password: "correct horse", firstName: " Ben ")
        #expect(account.isSignedIn && account.client?.user.firstName == "Ben")
        await account.client?.stop()

        let next = try makeAccount()
        await next.becomeActive()
        #expect(next.isSignedIn && next.client?.user.username == "ben")
        await until { next.client?.connection == .connected }
    }

    @Test("a session that ends leaves the client, and signing in again sends what was written meanwhile")
    func continuing() async throws {
        let room = try server.makeRoom(by: ada.id, with: server.addPerson("ben").id)
        let account = try makeAccount()
        let client = try await signIn(account)
        await until { client.connection == .connected && client.rooms.isLoaded }
        server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        server.expireTokens()
        await client.enterForeground()
        await until { client.connection == .ended(.signedOut) }
        #expect(!account.isSignedIn)
        let conversation = client.openConversation(try #require(client.rooms[room]))
        conversation.send("Still there?")

        try await account.logIn(username: "ada", password: "correct horse")
        #expect(account.client === client)
        await until { conversation.items.last?.state == .stored }
        #expect(server.texts(in: room) == ["Still there?"])
    }

    @Test("somebody else gets a client of their own, and the one before asks nothing any more")
    func somebodyElse() async throws {
        _ = server.addPerson("ben", password: "correct horse")
        let account = try makeAccount()
        let hers = try await signIn(account)
        await until { hers.connection == .connected }
        try await account.logIn(username: "ben", password: "correct horse")
        #expect(account.client !== hers && account.client?.user.username == "ben")
        await until { account.client?.connection == .connected && hers.connection == .idle }
    }

    @Test("signing out ends the session, and the same person signs in with a new client")
    func signingOut() async throws {
        let account = try makeAccount()
        let first = try await signIn(account)
        await until { first.connection == .connected }
        await account.noteDevice(Data([7]))
        #expect(server.devices(of: ada.id) == ["07"])
        await account.signOut()
        #expect(account.client == nil && account.signOutFailure == nil)
        let second = try await signIn(account)
        #expect(second !== first)
        await until { second.connection == .connected }
        #expect(server.devices(of: ada.id) == ["07"])
    }

    @Test("who signs out, or gives way to somebody else, leaves no notifications and no room of a tapped one")
    func notifications() async throws {
        _ = server.addPerson("ben", password: "correct horse")
        var cleared = 0
        let account = try makeAccount { cleared += 1 }
        _ = try await signIn(account)
        account.roomToOpen = "hers"
        try await account.logIn(username: "ada", password: "correct horse")
        #expect(account.roomToOpen == "hers" && cleared == 1)
        try await account.logIn(username: "ben", password: "correct horse")
        #expect(account.roomToOpen == nil && cleared == 2)
        account.roomToOpen = "his"
        await account.signOut()
        #expect(account.roomToOpen == nil && cleared == 3)
    }

    @Test("what an interrupted sign-out left is deleted at the next launch, or else before the next sign-in")
    func interruptedSignOut() async throws {
        let (hers, his) = (folder.url.appending(path: ada.id), folder.url.appending(path: "ben"))
        func interrupt(_ folder: URL) throws {
            let cache = folder.appending(path: "cache")
            try FileManager.default.createDirectory(at: cache, withIntermediateDirectories: true)
            try Data().write(to: cache.appending(path: "room.json"))
            try Data().write(to: folder.appending(path: "signed-out"))
        }
        func left(in folder: URL) throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path)
        }
        try interrupt(hers)
        let account = try makeAccount()
        await account.becomeActive()
        #expect(try left(in: hers) == [])
        try interrupt(his)
        try await account.logIn(username: "ada", password: "correct horse")
        #expect(try left(in: his) == [])
        await account.client?.stop()
    }

    @Test("a device that the system names before anybody signs in is registered with the first person")
    func earlyDevice() async throws {
        let account = try makeAccount()
        await account.noteDevice(Data([0x0a, 0xff]))
        _ = try await signIn(account)
        #expect(server.devices(of: ada.id) == ["0aff"])
    }

    @Test("a store that cannot be read yet signs nobody out: the next activation reads it")
    func lockedStore() async throws {
        let session = try server.makeSession(of: ada)
        let account = try makeAccount(LockedStore(kept: KeptSessions(current: session)))
        await account.becomeActive()
        #expect(!account.isRestored && account.client == nil)
        await account.becomeActive()
        #expect(account.isRestored && account.client?.user.id == ada.id)
    }
}

/// As the keychain before the device is first unlocked: the first call fails.
private final class LockedStore: SessionStore, @unchecked Sendable {
    private let kept: KeptSessions
    private let lock = NSLock()
    // Under the lock.
    private var isLocked = true

    init(kept: KeptSessions) { self.kept = kept }

    func load() throws -> KeptSessions {
        try lock.withLock {
            defer { isLocked = false }
            guard !isLocked else { throw CocoaError(.fileReadNoPermission) }
            return kept
        }
    }

    func save(_ sessions: KeptSessions) {}
}
