import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("ParlorAccount", .timeLimit(.minutes(1)))
struct ParlorAccountTests {
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

    /// As the app makes it at each launch.
    private func makeAccount(
        _ store: (any SessionStore)? = nil, clearNotifications: @escaping @MainActor () async -> Void = {}
    ) -> ParlorAccount {
        phone.makeAccount(keptIn: store, folder: folder.url, clearNotifications: clearNotifications)
    }

    private func signIn(_ account: ParlorAccount) async throws -> RoomsClient {
        await account.enterForeground()
        try await account.signIn(username: "ada", password: "correct horse")
        return try #require(account.client)
    }

    @Test("nobody is signed in at the first launch, and a wrong password changes nothing")
    func refused() async throws {
        let account = makeAccount()
        #expect(account.state.is("signed out") && account.failure == nil)
        await account.enterForeground()
        await #expect(throws: ClientFailure.self) {
            try await account.signIn(username: "ada", password: "correct cow")
        }
        #expect(account.state.is("signed out") && account.client == nil)
    }

    @Test("who registers is signed in, also at the next launch before any request, and has the first name, if any")
    func registering() async throws {
        let account = makeAccount()
        await account.enterForeground()
        try await account.register(username: "ben", password: "correct horse", firstName: " Ben ")
        #expect(account.state.is("signed in") && account.client?.user.firstName == "Ben")
        await account.client?.endProcess()

        let requests = phone.requests
        let next = makeAccount()
        #expect(next.state.is("signed in") && next.client?.user.username == "ben")
        #expect(phone.requests == requests)
        await next.enterForeground()
        await until { next.client?.connection == .connected }
        await next.client?.stop()
    }

    @Test(
        "a form learns which field the server has refused",
        arguments: [("a", "correct horse", "username"), ("cleo", "short", "password"), ("ada", "correct horse", nil)])
    func refusedField(username: String, password: String, field: String?) async throws {
        let failure = await #expect(throws: ClientFailure.self) {
            try await makeAccount().register(username: username, password: password)
        }
        guard case .refused(let refusal) = failure else { throw failure ?? .signedOut }
        #expect(refusal.field == field)
    }

    @Test("a session that ends leaves the client, and signing in again sends what was written meanwhile")
    func continuing() async throws {
        let room = try server.makeRoom(by: ada.id, with: server.addPerson("ben").id)
        let account = makeAccount()
        let client = try await signIn(account)
        await until { client.connection == .connected && client.rooms.isLoaded }
        server.refuseNext("POST /api/auth/refresh", with: Refusal(code: "invalid_token", message: "", status: 401))
        server.expireTokens()
        await client.enterForeground()
        await until { client.connection == .ended(.signedOut) }
        #expect(account.state.is("signed out") && account.client === client)
        let opened = client.open(try #require(client.rooms[room]))
        opened.conversation.send("Still there?")

        try await account.signIn(username: "ada", password: "correct horse")
        await until { account.state.is("signed in") }
        #expect(account.client === client)
        await until { opened.conversation.items.last?.state == .stored }
        #expect(server.texts(in: room) == ["Still there?"])
        opened.close()
        await client.stop()
    }

    @Test("somebody else gets a client of their own, and the one before asks nothing any more")
    func somebodyElse() async throws {
        _ = server.addPerson("ben", password: "correct horse")
        let account = makeAccount()
        let hers = try await signIn(account)
        await until { hers.connection == .connected }
        try await account.signIn(username: "ben", password: "correct horse")
        #expect(account.client !== hers && account.client?.user.username == "ben")
        await until { account.client?.connection == .connected && hers.connection == .idle }
        await account.client?.stop()
    }

    @Test("who comes back gets the folder at once, also if a screen still has the client of before")
    func comingBack() async throws {
        _ = server.addPerson("ben", password: "correct horse")
        let account = makeAccount()
        let before = try await signIn(account)
        await until { before.connection == .connected }
        try await account.signIn(username: "ben", password: "correct horse")
        let hers = try await signIn(account)
        #expect(hers !== before)
        await until { hers.connection == .connected }
        await hers.stop()
    }

    @Test("the app may sign in with a session that it has from the server")
    func ownSession() async throws {
        let account = makeAccount()
        try await account.signIn(with: try server.makeSession(of: ada))
        #expect(account.client?.user == ada)
        await until { account.client?.connection == .connected }
        #expect(await account.enterBackground() == .settled)
        #expect(account.client?.connection == .idle)
    }

    @Test("signing out ends the session, and the same person signs in with a new client")
    func signingOut() async throws {
        let account = makeAccount()
        let first = try await signIn(account)
        await until { first.connection == .connected }
        try await account.signOut()
        #expect(account.client == nil && account.state.is("signed out"))
        await lookUntil { server.sessionCount(of: ada.id) == 0 }
        let second = try await signIn(account)
        #expect(second !== first)
        await until { second.connection == .connected }
        await second.stop()
    }

    @Test("a sign-in during a sign-out waits for it, and gets a client of its own")
    func signingInMeanwhile() async throws {
        let account = makeAccount()
        let first = try await signIn(account)
        await until { first.connection == .connected }
        let signingOut = Task { try await account.signOut() }
        await lookUntil { first.isSignedOut }
        try await account.signIn(username: "ada", password: "correct horse")
        try await signingOut.value
        #expect(account.client !== first)
        await until { account.client?.connection == .connected }
        await account.client?.stop()
    }

    @Test("a sign-out that the disk refuses is an error, but nobody is signed in any more")
    func refusedSignOut() async throws {
        let account = makeAccount()
        let client = try await signIn(account)
        await until { client.connection == .connected && client.rooms.isLoaded }
        client.local.folder.removeFile = { _ in throw CocoaError(.fileWriteNoPermission) }
        await #expect(throws: CocoaError.self) { try await account.signOut() }
        #expect(account.client == nil && account.state.is("signed out"))
    }

    @Test("who signs out, or gives way to somebody else, leaves no notifications and no room of an opened one")
    func notifications() async throws {
        _ = server.addPerson("ben", password: "correct horse")
        var cleared = 0
        let account = makeAccount { cleared += 1 }
        _ = try await signIn(account)
        account.open(PushedMessage(roomID: "hers", messageID: "m"))
        try await account.signIn(username: "ada", password: "correct horse")
        #expect(account.roomToOpen == "hers" && cleared == 1)
        try await account.signIn(username: "ben", password: "correct horse")
        #expect(account.roomToOpen == nil && cleared == 2)
        account.open(PushedMessage(roomID: "his", messageID: "m"))
        try await account.signOut()
        #expect(account.roomToOpen == nil && cleared == 3)
    }

    @Test("a notification that launches the app opens its room")
    func launched() async throws {
        await (try await signIn(makeAccount())).stop()
        let account = makeAccount()
        account.open(PushedMessage(roomID: "tapped", messageID: "m"))
        await account.enterForeground()
        #expect(account.roomToOpen == "tapped")
        await account.client?.stop()
    }

    @Test(
        "a link to a room of the server's web page opens the room, and no other link does",
        arguments: [
            ("https://chat.example/#/room/a%20b", "a b"), ("https://CHAT.example/#/room/r/board", "r"),
            ("chat-app://open#/room/r", "r"), ("https://chat.example/#/rooms/r", nil),
            ("https://chat.example/#/room", nil), ("https://other.example/#/room/r", nil),
            ("https://chat.example/room/r", nil),
        ])
    func links(link: String, room: String?) throws {
        let account = ParlorAccount(
            server: try #require(URL(string: "https://chat.example/")),
            sessionIn: .file(folder.url.appending(path: "session")), folder: folder.url)
        #expect(account.open(try #require(URL(string: link))) == (room != nil))
        #expect(account.roomToOpen == room)
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
        let account = makeAccount()
        #expect(try left(in: hers) == [])
        try interrupt(his)
        try await account.signIn(username: "ada", password: "correct horse")
        #expect(try left(in: his) == [])
        await account.client?.stop()
    }

    @Test("a store that cannot be read yet signs nobody out: the next activation reads it")
    func lockedStore() async throws {
        let session = try server.makeSession(of: ada)
        let account = makeAccount(LockedStore(kept: KeptSessions(current: session)))
        account.open(PushedMessage(roomID: "tapped", messageID: "m"))
        #expect(account.state.is("restoring") && account.client == nil && account.failure != nil)
        await account.enterForeground()
        #expect(account.state.is("restoring"))
        await #expect(throws: CocoaError.self) { try await account.signIn(with: session) }
        await account.enterForeground()
        #expect(account.state.is("signed in") && account.client?.user.id == ada.id && account.failure == nil)
        #expect(account.roomToOpen == "tapped")
        await account.client?.stop()
    }

    @Test("a session that the device does not store lasts for this run, and the account says so")
    func fullStore() async throws {
        let account = makeAccount(FullStore())
        let client = try await signIn(account)
        #expect(account.failure != nil && account.state.is("signed in"))
        try? await account.signOut()
        await #expect(throws: ClientFailure.signedOut) { try await client.rooms.makeRoom(with: "ben", name: "Late") }
        await #expect(throws: ClientFailure.signedOut) { try await client.api.me() }
    }

    // MARK: Devices

    @Test("a device that the system names before anybody signs in is registered with each person who does")
    func earlyDevice() async throws {
        let ben = server.addPerson("ben", password: "correct horse")
        let account = makeAccount()
        account.registerDevice(Data([0x0a, 0xff]), environment: .sandbox)
        _ = try await signIn(account)
        await lookUntil { server.devices(of: ada.id) == ["0aff"] }
        try await account.signOut()
        try await account.signIn(username: "ben", password: "correct horse")
        await lookUntil { server.devices(of: ben.id) == ["0aff"] }
        await account.client?.stop()
    }

    @Test("a device that could not be registered is registered on the next connection, and once")
    func deviceOffline() async throws {
        let account = makeAccount()
        let client = try await signIn(account)
        await until { client.connection == .connected }
        phone.setAirplaneMode(true)
        await until { client.connection != .connected }
        account.registerDevice(Data([7]), environment: .production)
        phone.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { server.devices(of: ada.id) == ["07"] }
        phone.dropSockets()
        await until { client.connection != .connected }
        await client.enterForeground()
        await until { client.connection == .connected }
        await TestClock.settle()
        #expect(phone.requests.count { $0 == "POST /api/devices" } == 1)
        await client.stop()
    }

    @Test("a device that the server cannot register now is registered later on the same connection")
    func deviceRefused() async throws {
        let account = makeAccount()
        let client = try await signIn(account)
        await until { client.connection == .connected }
        let refusal = Refusal(code: "service_unavailable", message: "", isRetryable: true)
        for _ in 1...2 { server.refuseNext("POST /api/devices", with: refusal) }
        account.registerDevice(Data([7]), environment: .production)
        await lookUntil {
            await clock.advance(by: .seconds(1))
            return server.devices(of: ada.id) == ["07"]
        }
        #expect(phone.requests.count { $0 == "POST /api/devices" } == 3)
        await client.stop()
    }

    @Test("a session that the server ends takes the device with it; the next sign-in registers it again")
    func deviceOfEndedSession() async throws {
        let account = makeAccount()
        account.registerDevice(Data([7]), environment: .production)
        let client = try await signIn(account)
        await lookUntil { server.devices(of: ada.id) == ["07"] }
        server.endSessions(of: ada.id)
        await until { client.connection == .ended(.signedOut) }
        try await account.signIn(username: "ada", password: "correct horse")
        await lookUntil { phone.requests.count { $0 == "POST /api/devices" } == 2 }
        await lookUntil { server.devices(of: ada.id) == ["07"] }
        await client.stop()
    }
}

extension ParlorAccount.State {
    fileprivate func `is`(_ name: String) -> Bool {
        switch self {
        case .restoring: name == "restoring"
        case .signedOut: name == "signed out"
        case .signedIn: name == "signed in"
        }
    }
}

/// As the keychain before the device is first unlocked: the first three calls fail.
private final class LockedStore: SessionStore, @unchecked Sendable {
    private let kept: KeptSessions
    private let lock = NSLock()
    // Under the lock.
    private var failures = 3

    init(kept: KeptSessions) { self.kept = kept }

    func load() throws -> KeptSessions {
        try lock.withLock {
            failures -= 1
            guard failures < 0 else { throw CocoaError(.fileReadNoPermission) }
            return kept
        }
    }

    func save(_ sessions: KeptSessions) {}
}

/// A full disk.
private struct FullStore: SessionStore {
    func load() -> KeptSessions { KeptSessions() }
    func save(_ sessions: KeptSessions) throws { throw CocoaError(.fileWriteOutOfSpace) }
}
