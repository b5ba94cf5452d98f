import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of an app and its extension: two processes that share only the file with the sessions.
@Suite("ExtensionTokens", .timeLimit(.minutes(10)))
struct ExtensionTokensTests {
    let clock = TestClock()
    private let folder = TemporaryFolder(in: "/dev/shm")
    private let server: ScriptedServer
    private let ada: Person
    /// The networks of the app and of the extension, which fail independently of each other.
    let (phone, extensionPhone): (ScriptedDevice, ScriptedDevice)
    let store: FileSessionStore

    init() throws {
        server = ScriptedServer(clock: clock)
        ada = server.addPerson("ada")
        (phone, extensionPhone) = (server.makeDevice(), server.makeDevice())
        store = FileSessionStore(url: folder.url.appending(path: "sessions.json"))
        try store.save(KeptSessions(current: try server.makeSession(of: ada)))
    }

    func app() throws -> SessionTokens {
        try SessionTokens(keptIn: store, accounts: AccountsAPI(transport: phone), clock: clock)
    }

    func appExtension(of store: (any SessionStore)? = nil) -> ExtensionTokens {
        ExtensionTokens(
            sharedIn: store ?? self.store, accounts: AccountsAPI(transport: extensionPhone), clock: clock)
    }

    func kept() throws -> Session { try #require(try store.load().current) }

    /// Advances the clock until a task ends, and returns its result.
    func result(of task: Task<String, any Error>) async -> Result<String, any Error> {
        let isDone = Guarded(false)
        Task {
            _ = await task.result
            isDone.withLock { $0 = true }
        }
        while !isDone.withLock({ $0 }) { await clock.advance(by: .milliseconds(250)) }
        return await task.result
    }

    /// Checks that the session is valid, and that the app and the extension can both renew it.
    func expectAlive(_ app: SessionTokens) async throws {
        #expect(server.sessionCount(of: ada.id) == 1)
        let token = try await app.token(replacing: try await app.token())
        #expect(try kept().token == token)
        let next = try await appExtension().token(replacing: token)
        #expect(try kept().token == next && next != token)
        #expect(try await app.token(replacing: token) == next)
        #expect(try await RoomsAPI(transport: phone, tokens: app).me().id == ada.id)
    }

    @Test("a valid token is returned without a request or a write")
    func valid() async throws {
        let before = try kept()
        #expect(try await appExtension().token() == before.token)
        #expect(extensionPhone.requests.isEmpty)
        #expect(try kept() == before)
    }

    @Test("an expired token is renewed for the app too, which uses it without a request")
    func renewed() async throws {
        let app = try app()
        await clock.advance(by: .seconds(16 * 60))
        let token = try await appExtension().token()
        #expect(try kept().token == token)
        #expect(try await app.token() == token)
        #expect(phone.requests.isEmpty)
        try await expectAlive(app)
    }

    @Test("a token that the server refuses is renewed, unless the app has done so")
    func refused() async throws {
        let old = try kept().token
        let app = try app()
        let token = try await appExtension().token(replacing: old)
        #expect(token != old)
        #expect(try await app.token(replacing: old) == token)
        #expect(try await appExtension().token(replacing: old) == token)
        #expect(phone.requests.isEmpty && extensionPhone.requests.count == 1)
    }

    @Test("an app that slept while the extension renewed its session again and again is not signed out")
    func slept() async throws {
        let app = try app()
        for _ in 0..<5 {
            await clock.advance(by: .seconds(60 * 60))
            _ = try await appExtension().token()
        }
        await clock.advance(by: .seconds(60 * 60))
        _ = try await app.token()
        try await expectAlive(app)
    }

    @Test("both renew at once: they get the same session, whoever is answered first", arguments: [false, true])
    func together(isExtensionFirst: Bool) async throws {
        await clock.advance(by: .seconds(16 * 60))
        let (app, appExtension) = (try app(), appExtension())
        phone.delayAnswers(by: .seconds(isExtensionFirst ? 2 : 1))
        extensionPhone.delayAnswers(by: .seconds(isExtensionFirst ? 1 : 2))
        let first = Task { try await app.token() }
        await clock.untilSleeping(1)
        let second = Task { try await appExtension.token() }
        await clock.untilSleeping(2)
        await clock.advance(by: .seconds(2))
        #expect(try await first.value == second.value)
        #expect(phone.requests.count == 1 && extensionPhone.requests.count == 1)
        phone.delayAnswers(by: .zero)
        extensionPhone.delayAnswers(by: .zero)
        try await expectAlive(app)
    }

    @Test("concurrent calls share one refresh, which continues if one of them is cancelled")
    func shared() async throws {
        await clock.advance(by: .seconds(16 * 60))
        let tokens = appExtension()
        extensionPhone.delayAnswers(by: .seconds(1))
        let (first, second) = (Task { try await tokens.token() }, Task { try await tokens.token() })
        await clock.untilSleeping(1)
        await TestClock.settle()
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        let settling = Task { await tokens.settle() }
        await clock.advance(by: .seconds(1))
        await settling.value
        #expect(try await second.value == kept().token)
        #expect(extensionPhone.requests.count == 1)
    }

    @Test(
        "a lost answer is requested again with the same attempt id, by the extension or by the app",
        arguments: 1...3)
    func lostAnswers(count: Int) async throws {
        await clock.advance(by: .seconds(16 * 60))
        let app = try app()
        for _ in 0..<count { extensionPhone.loseNextAnswer() }
        let tokens = appExtension()
        let task = Task { try await tokens.token() }
        let result = await result(of: task)
        if count < 3 {
            #expect(try result.get() == kept().token)
        } else {
            #expect(throws: ClientFailure.self) { try result.get() }
            #expect(try kept().refreshAttemptID != nil)
        }
        try await expectAlive(app)
    }

    @Test("without a network a token is returned while it is valid, and not after")
    func offline() async throws {
        extensionPhone.setAirplaneMode(true)
        await clock.advance(by: .seconds(15 * 60 - 5))
        let token = try kept().token
        let task = Task { [tokens = appExtension()] in try await tokens.token() }
        #expect(try await result(of: task).get() == token)
        await clock.advance(by: .seconds(10))
        let late = Task { [tokens = appExtension()] in try await tokens.token() }
        let failed = await result(of: late)
        #expect(throws: ClientFailure.self) { try failed.get() }
        extensionPhone.setAirplaneMode(false)
        try await expectAlive(try app())
    }

    @Test("a refresh that the server wants repeated much later ends at once, and the app repeats it")
    func repeatedLater() async throws {
        await clock.advance(by: .seconds(16 * 60))
        let error = #"{"error":{"code":"service_unavailable","message":"Try again in a minute.","requestId":"1"}}"#
        extensionPhone.interceptNextRequests(
            with: Data(error.utf8), status: 503, headers: ["retry-after": "60"])
        // The clock stands still, so a pause would never end.
        await #expect(throws: ClientFailure.self) { try await appExtension().token() }
        try await expectAlive(try app())
    }

    @Test("a sign-out during the extension's refresh is final")
    func signedOut() async throws {
        await clock.advance(by: .seconds(16 * 60))
        let app = try app()
        extensionPhone.delayAnswers(by: .seconds(1))
        let task = Task { [tokens = appExtension()] in try await tokens.token() }
        await clock.untilSleeping(1)
        try await app.signOut(device: nil)
        await app.settleEnding()
        await clock.advance(by: .seconds(1))
        await #expect(throws: ClientFailure.signedOut) { try await task.value }
        #expect(try store.load() == KeptSessions())
        #expect(server.sessionCount(of: ada.id) == 0)
    }

    @Test(
        "a person who signs in during the extension's refresh stays signed in, also the same person again",
        arguments: [false, true])
    func signedInAgain(isSamePerson: Bool) async throws {
        await clock.advance(by: .seconds(16 * 60))
        let app = try app()
        extensionPhone.delayAnswers(by: .seconds(1))
        let task = Task { [tokens = appExtension()] in try await tokens.token() }
        await clock.untilSleeping(1)
        let session = try server.makeSession(of: isSamePerson ? ada : server.addPerson("ben"))
        await app.use(session)
        await clock.advance(by: .seconds(1))
        if isSamePerson {
            #expect(try await task.value == session.token)
        } else {
            await #expect(throws: ClientFailure.signedOut) { try await task.value }
        }
        #expect(try kept() == session)
        #expect(await app.session == session)
    }

    /// The store and the network of an extension that is killed after some steps. Its later steps have no effect.
    private final class Doomed: SessionStore, HTTPTransport {
        struct Ended: Error {}

        private let store: FileSessionStore
        private let network: ScriptedDevice
        private let stepsLeft: Guarded<Int>

        init(_ store: FileSessionStore, _ network: ScriptedDevice, steps: Int) {
            (self.store, self.network, stepsLeft) = (store, network, Guarded(steps))
        }

        private func step() throws {
            let left = stepsLeft.withLock { left in
                left -= 1
                return left
            }
            if left < 0 { throw Ended() }
        }

        func load() throws -> KeptSessions { try store.load() }
        func exclusively<Value>(_ body: () throws -> Value) throws -> Value { try store.exclusively(body) }

        func save(_ sessions: KeptSessions) throws {
            try step()
            try store.save(sessions)
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            try step()
            let answer = try await network.send(request)
            // The server has handled the request, but a killed extension gets no answer.
            try step()
            return answer
        }
    }

    @Test(
        "an extension that is killed during a refresh signs nobody out, if the app follows within a minute",
        arguments: 0..<5)
    func ends(afterSteps steps: Int) async throws {
        await clock.advance(by: .seconds(16 * 60))
        let app = try app()
        let doomed = Doomed(store, extensionPhone, steps: steps)
        let tokens = ExtensionTokens(sharedIn: doomed, accounts: AccountsAPI(transport: doomed), clock: clock)
        let outcome = await result(of: Task { try await tokens.token() })
        #expect((try? outcome.get()) == (steps == 4 ? try kept().token : nil))
        await clock.advance(by: .seconds(50))
        _ = try await app.token()
        try await expectAlive(app)
    }

    /// The app's store, which can refuse to save.
    private final class RefusingStore: SessionStore {
        struct Refused: Error {}

        private let store: FileSessionStore
        private let refuses = Guarded(false)

        init(_ store: FileSessionStore) { self.store = store }

        func refuse(_ refuses: Bool) { self.refuses.withLock { $0 = refuses } }
        func load() throws -> KeptSessions { try store.load() }
        func exclusively<Value>(_ body: () throws -> Value) throws -> Value { try store.exclusively(body) }

        func save(_ sessions: KeptSessions) throws {
            if refuses.withLock({ $0 }) { throw Refused() }
            try store.save(sessions)
        }
    }

    @Test("a sign-in that the store refused at first stays, even if the extension has renewed the earlier session")
    func signInRefusedByStore() async throws {
        let refusing = RefusingStore(store)
        let app = try SessionTokens(keptIn: refusing, accounts: AccountsAPI(transport: phone), clock: clock)
        refusing.refuse(true)
        let session = try server.makeSession(of: ada)
        await app.use(session)
        let renewed = try await appExtension().token(replacing: kept().token)
        #expect(try kept().token == renewed)
        refusing.refuse(false)
        #expect(try await app.token() == session.token)
        #expect(try kept() == session)
    }

    @Test("when the server has ended a session, only the app signs out")
    func ended() async throws {
        try await AccountsAPI(transport: phone).logOut(try kept())
        let token = try kept().token
        await #expect(throws: ClientFailure.signedOut) { try await appExtension().token(replacing: token) }
        #expect(try kept().token == token)
        let app = try app()
        await #expect(throws: ClientFailure.signedOut) { try await app.token(replacing: token) }
        #expect(try store.load().current == nil)
        await #expect(throws: ClientFailure.signedOut) { try await appExtension().token() }
    }

    @Test("the app's ending sessions stay in the store when the extension writes")
    func endings() async throws {
        let app = try app()
        phone.setAirplaneMode(true)
        try await app.signOut(device: "phone")
        await app.use(try server.makeSession(of: ada))
        let ending = try store.load().ending
        #expect(ending.count == 1)
        _ = try await appExtension().token(replacing: kept().token)
        #expect(try store.load().ending == ending)
    }

    @Test("a store that cannot be read or written now causes no request and no sign-out")
    func unreadable() async throws {
        struct Locked: Error {}
        struct LockedStore: SessionStore {
            let current: Session?
            func load() throws -> KeptSessions {
                guard let current else { throw Locked() }
                return KeptSessions(current: current)
            }
            func save(_ sessions: KeptSessions) throws { throw Locked() }
        }
        let session = try kept()
        for current in [nil, session] {
            let tokens = appExtension(of: LockedStore(current: current))
            let failure = await #expect(throws: ClientFailure.self) { try await tokens.token(replacing: session.token) }
            #expect(failure?.isRetryable == true)
        }
        #expect(extensionPhone.requests.isEmpty)
    }
}
