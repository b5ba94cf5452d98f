import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// A device's disk and network, and a process that can be killed between any two steps. After the kill, its steps have
/// no effect, and its requests get no answer.
private final class Device: Sendable {
    private struct State: Sendable {
        var kept = KeptSessions()
        /// The number of the current process. It rises with each start.
        var process = 0
        /// The number of steps before the kill; nil if there is none.
        var stepsLeft: Int?
        var isKilled = false
    }

    private let state = Guarded(State())
    private let network: ScriptedDevice

    init(_ network: ScriptedDevice) { self.network = network }

    var kept: KeptSessions { state.withLock { $0.kept } }
    var isKilled: Bool { state.withLock { $0.isKilled } }

    /// Starts a process.
    ///
    /// - Parameter steps: the number of steps before the kill; nil if there is none.
    func start(killedAfter steps: Int?, accountsOver clock: TestClock) throws -> SessionTokens {
        let process = state.withLock { state in
            state.process += 1
            (state.stepsLeft, state.isKilled) = (steps, false)
            return state.process
        }
        return try SessionTokens(
            keptIn: Store(device: self, process: process),
            accounts: AccountsAPI(transport: Network(device: self, process: process)), clock: clock)
    }

    /// Begins a step of a process.
    ///
    /// - Returns: false if the process is dead, or is killed now.
    private func step(_ process: Int) -> Bool {
        state.withLock { state in
            guard process == state.process, !state.isKilled else { return false }
            guard let left = state.stepsLeft else { return true }
            state.isKilled = left == 0
            state.stepsLeft = left - 1
            return !state.isKilled
        }
    }

    struct Killed: Error {}

    private struct Store: SessionStore {
        let device: Device
        let process: Int

        func load() throws -> KeptSessions { device.kept }

        func save(_ sessions: KeptSessions) throws {
            guard device.step(process) else { throw Killed() }
            device.state.withLock { $0.kept = sessions }
        }
    }

    private struct Network: HTTPTransport {
        let device: Device
        let process: Int

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            guard device.step(process) else { throw CancellationError() }
            let answer = try await device.network.send(request)
            // The server has handled the request, but a killed process gets no answer.
            guard device.step(process) else { throw CancellationError() }
            return answer
        }
    }
}

@Suite("Killing a process between two steps", .timeLimit(.minutes(10)))
struct SessionKillTests {
    private struct Harness {
        let clock = TestClock()
        let server: ScriptedServer
        let ada: Person
        let network: ScriptedDevice
        let device: Device

        init() async throws {
            server = ScriptedServer(clock: clock)
            ada = server.addPerson("ada")
            network = server.makeDevice()
            device = Device(network)
            let tokens = try device.start(killedAfter: nil, accountsOver: clock)
            await tokens.use(try server.makeSession(of: ada))
            let api = RoomsAPI(transport: network, tokens: tokens)
            try await api.registerDevice(token: "phone", environment: .production)
        }
    }

    @Test("a kill during a refresh signs nobody out", arguments: 0..<8)
    func refresh(steps: Int) async throws {
        let harness = try await Harness()
        let doomed = try harness.device.start(killedAfter: steps, accountsOver: harness.clock)
        let old = try #require(await doomed.session?.token)
        _ = try? await doomed.token(replacing: old)
        await harness.clock.advance(by: .seconds(59))
        let again = try harness.device.start(killedAfter: nil, accountsOver: harness.clock)
        let token = try await again.token(replacing: old)
        #expect(token != old)
        // The session is alive: it can be renewed, and its token works.
        _ = try await again.token(replacing: token)
        #expect(try await RoomsAPI(transport: harness.network, tokens: again).me().id == harness.ada.id)
        #expect(harness.server.devices(of: harness.ada.id) == ["phone"])
    }

    @Test("after a kill during sign-out, the session still ends, and no device is left", arguments: 0..<12)
    func signOut(steps: Int) async throws {
        let harness = try await Harness()
        // An expired token adds a refresh to the steps.
        if steps.isMultiple(of: 2) { await harness.clock.advance(by: .seconds(16 * 60)) }
        let doomed = try harness.device.start(killedAfter: steps, accountsOver: harness.clock)
        // `try?`: the store of a killed process throws.
        try? await doomed.signOut(device: nil)
        await TestClock.settle()
        let again = try harness.device.start(killedAfter: nil, accountsOver: harness.clock)
        // A kill before the first step leaves the person signed in.
        if steps == 0 { try await again.signOut(device: nil) }
        #expect(await again.session == nil)
        await again.settleEnding()
        #expect(harness.device.kept == KeptSessions())
        #expect(harness.server.sessionCount(of: harness.ada.id) == 0)
        #expect(harness.server.devices(of: harness.ada.id) == [])
    }

    @Test("without a network, sign-out is immediate here, and reaches the server later")
    func offline() async throws {
        let harness = try await Harness()
        let tokens = try harness.device.start(killedAfter: nil, accountsOver: harness.clock)
        harness.network.setAirplaneMode(true)
        try await tokens.signOut(device: "phone")
        await #expect(throws: ClientFailure.signedOut) { try await tokens.token() }
        await TestClock.settle()
        #expect(harness.server.sessionCount(of: harness.ada.id) == 1)
        harness.network.setAirplaneMode(false)
        await tokens.noteConnection()
        await tokens.settleEnding()
        #expect(harness.server.sessionCount(of: harness.ada.id) == 0)
        #expect(harness.server.devices(of: harness.ada.id) == [])
    }

    @Test("a server that refuses to remove the device still ends the session")
    func deviceRefused() async throws {
        let harness = try await Harness()
        let tokens = try harness.device.start(killedAfter: nil, accountsOver: harness.clock)
        harness.server.refuseNext(
            "DELETE /api/devices/phone", with: Refusal(code: "not_found", message: "No such route.", status: 404))
        try await tokens.signOut(device: "phone")
        await tokens.settleEnding()
        #expect(harness.server.sessionCount(of: harness.ada.id) == 0)
        #expect(harness.device.kept == KeptSessions())
    }

    @Test("a session file that cannot be read now signs nobody out, and only its owner can read it")
    func file() throws {
        let temporary = TemporaryFolder()
        let url = temporary.url.appending(path: "ada.json")
        let store = FileSessionStore(url: url)
        #expect(try store.load() == KeptSessions())
        let session = Session(
            token: "t", expiresAt: Date(timeIntervalSince1970: 1), refreshToken: "r",
            user: Person(id: "u", username: "ada"))
        for current in [session, nil] {
            try store.save(KeptSessions(current: current))
            #expect(try store.load() == KeptSessions(current: current))
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: temporary.path) == ["ada.json"])
        // A folder cannot be read as a file, not even by root.
        #expect(throws: (any Error).self) { try FileSessionStore(url: temporary.url).load() }
    }

    @Test("a session file that this version cannot decode is not lost: a newer version finds it, even after a sign-in")
    func foreignFile() throws {
        let temporary = TemporaryFolder()
        let url = temporary.url.appending(path: "ada.json")
        let store = FileSessionStore(url: url)
        let foreign = Data(#"{"format":2,"sessions":[]}"#.utf8)
        try foreign.write(to: url)
        #expect(try store.load() == KeptSessions())
        #expect(try Data(contentsOf: url) == foreign)
        for expiry in [1, 2] {
            let sessions = KeptSessions(
                current: Session(
                    token: "t", expiresAt: Date(timeIntervalSince1970: TimeInterval(expiry)), refreshToken: "r",
                    user: Person(id: "u", username: "ada")))
            try store.save(sessions)
            #expect(try store.load() == sessions)
            #expect(try Data(contentsOf: temporary.url.appending(path: "ada.json.unreadable")) == foreign)
        }
    }

    @Test("after random kills and network faults, a session is alive, or has ended as requested")
    func chaos() async throws {
        for seed in Seeds.first(40) { try await run(seed: seed) }
    }

    private func run(seed: Int) async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let harness = try await Harness()
        var hasAskedToSignOut = false
        for _ in 0..<6 {
            let tokens = try harness.device.start(
                killedAfter: Int.random(in: 0..<7, using: &random), accountsOver: harness.clock)
            switch Int.random(in: 0..<4, using: &random) {
            case 0: harness.network.loseNextAnswer()
            case 1: harness.network.loseNextRequests()
            default: break
            }
            if let token = await tokens.session?.token {
                if hasAskedToSignOut || Int.random(in: 0..<5, using: &random) == 0 {
                    hasAskedToSignOut = true
                    let phone = Bool.random(using: &random) ? "phone" : nil
                    // `try?`: the store of a killed process throws.
                    try? await tokens.signOut(device: phone)
                    await TestClock.settle()
                } else {
                    _ = try? await tokens.token(replacing: token)
                }
            } else {
                #expect(hasAskedToSignOut, "seed \(seed)")
                await TestClock.settle()
            }
            let isLong = Int.random(in: 0..<10, using: &random) == 0
            await harness.clock.advance(by: .seconds(isLong ? 3600 : Int.random(in: 0..<9, using: &random)))
        }
        let tokens = try harness.device.start(killedAfter: nil, accountsOver: harness.clock)
        if hasAskedToSignOut {
            try await tokens.signOut(device: nil)
            await tokens.noteConnection()
            await TestClock.settle()
            for _ in 0..<10 where !harness.device.kept.ending.isEmpty {
                await harness.clock.advance(by: .seconds(31))
            }
            #expect(harness.device.kept == KeptSessions(), "seed \(seed)")
            #expect(harness.server.sessionCount(of: harness.ada.id) == 0, "seed \(seed)")
            #expect(harness.server.devices(of: harness.ada.id) == [], "seed \(seed)")
        } else {
            // Each fault that is left uses up an attempt.
            var renewed: String?
            for _ in 0..<8 where renewed == nil {
                guard let token = await tokens.session?.token else { break }
                renewed = try? await tokens.token(replacing: token)
            }
            #expect(renewed != nil && harness.server.sessionCount(of: harness.ada.id) == 1, "seed \(seed)")
        }
    }
}
