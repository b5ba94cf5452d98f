import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("Killing the app between two steps of leaving and signing out", .timeLimit(.minutes(10)))
struct ClientKillTests {
    @Test("a kill at any step of `enterBackground` loses no message and no change, and signs nobody out")
    func background() async throws {
        // The first run counts the steps.
        var steps = 1
        var step = 0
        while step < steps {
            let world = try await KillWorld()
            try await world.type(["one", "two"])
            world.server.expireTokens()
            world.app.arm(killedAt: step == 0 ? nil : step - 1)
            await world.perform(.enterBackground)
            if step == 0 { steps = world.app.steps + 1 }
            try await world.restart()
            try await world.checkSignedIn(texts: ["one", "two"], "step \(step) of \(steps)")
            step += 1
        }
        #expect(steps > 9)
    }

    @Test("a kill at any step of `signOut` leaves no session, no device and no file", arguments: [true, false])
    func signOut(isOnline: Bool) async throws {
        var steps = 1
        var step = 0
        while step < steps {
            let world = try await KillWorld()
            try await world.type(["one"])
            if !isOnline { world.network.setAirplaneMode(true) }
            world.app.arm(killedAt: step == 0 ? nil : step - 1)
            await world.perform(.signOut)
            if step == 0 { steps = world.app.steps + 1 }
            world.network.setAirplaneMode(false)
            try await world.restart()
            try await world.checkSignedOut("step \(step) of \(steps)")
            step += 1
        }
        #expect(steps > 9)
    }

    @Test("random kills, faults and restarts: nothing is lost before a sign-out, and nothing is left after it")
    func chaos() async throws {
        for seed in Seeds.first(40) {
            var random = SeededGenerator(seed: UInt64(seed))
            let world = try await KillWorld()
            var typed: [String] = []
            var signsOut = false
            for run in 0..<4 where world.client != nil {
                if Bool.random(using: &random) {
                    let texts = (0..<Int.random(in: 1...3, using: &random)).map { "\(run).\($0)" }
                    try await world.type(texts)
                    typed += texts
                }
                switch Int.random(in: 0..<5, using: &random) {
                case 0: world.server.expireTokens()
                case 1: world.network.loseNextAnswer()
                case 2: world.network.loseNextRequests()
                case 3: world.network.setAirplaneMode(true)
                default: break
                }
                signsOut = Int.random(in: 0..<5, using: &random) == 0
                world.app.arm(killedAt: Int.random(in: 0..<30, using: &random))
                await world.perform(signsOut ? .signOut : .enterBackground)
                world.network.setAirplaneMode(false)
                let mayBeGone = signsOut && world.hasBegunToForget
                try await world.restart()
                if mayBeGone {
                    // The mark of the sign-out was there, or all is gone. The rest is deleted, and nothing is sent.
                    typed = []
                    break
                }
                signsOut = false
            }
            if signsOut || world.client == nil {
                try await world.checkSignedOut("seed \(seed)")
            } else {
                try await world.checkSignedIn(texts: typed, "seed \(seed)")
            }
        }
    }
}

/// Ada's device, with her signed in, and a room with a conversation and a board.
@MainActor
private final class KillWorld {
    enum Action { case enterBackground, signOut }

    let clock = TestClock()
    let server: ScriptedServer
    let network: ScriptedDevice
    private(set) var app: KillableApp
    private(set) var client: RoomsClient?
    private var tokens: SessionTokens
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private var notes = 0
    /// Clients of killed processes. They must not be released: that would be another step.
    private var dead: [RoomsClient] = []

    init() async throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id)
        network = server.makeDevice()
        app = try KillableApp(network)
        tokens = try Self.makeTokens(app, clock)
        await tokens.use(try server.makeSession(of: ada))
        try await start()
        client?.registerDevice(Data([1]), environment: .production)
        await lookUntil { server.devices(of: ada.id) == ["01"] }
    }

    private static func makeTokens(_ app: KillableApp, _ clock: TestClock) throws -> SessionTokens {
        try SessionTokens(keptIn: app.store, accounts: AccountsAPI(transport: app.transport), clock: clock)
    }

    private func start() async throws {
        let client = try await app.run {
            try FileManager.default.createDirectory(at: app.folder, withIntermediateDirectories: true)
            let client = RoomsClient(
                server: try #require(URL(string: "https://chat.example")), user: ada, tokens: tokens,
                http: app.transport, sockets: app.transport, clock: clock, folder: app.folder)
            await client.start()
            return client
        }
        self.client = client
        for _ in 0..<20 where client.connection != .connected || client.isBehind || !client.rooms.isLoaded {
            await TestClock.settle()
            await clock.advance(by: .seconds(1))
        }
        await lookUntil { client.connection == .connected && !client.isBehind && client.rooms.isLoaded }
    }

    /// Types messages, and makes a note, without a network. Returns when they are on the disk.
    func type(_ texts: [String]) async throws {
        let client = try #require(client)
        try await app.run {
            network.setAirplaneMode(true)
            await lookUntil { client.connection != .connected }
            let room = try #require(client.rooms[roomID])
            let conversation = client.openConversation(room)
            let board = client.openBoard(of: conversation)
            for text in texts { conversation.send(text) }
            notes += 1
            board.create(type: "note", content: ["text": .string("note")])
            await lookUntil { conversation.sending.unkept.isEmpty }
            await board.keepAll()
        }
        network.setAirplaneMode(false)
    }

    /// Runs until the action ends, or the process is killed.
    func perform(_ action: Action) async {
        guard let client else { return }
        await app.run {
            var isOver = false
            let acting = Task {
                switch action {
                case .enterBackground: _ = await client.enterBackground()
                case .signOut: try? await client.signOut()  // `try?`: the store of a killed process throws
                }
                isOver = true
            }
            for _ in 0..<200 where !isOver && !app.isKilled {
                await TestClock.settle()
                // A pause after a lost request, or the end of the background time.
                if !isOver, !app.isKilled { await clock.advance(by: .milliseconds(500)) }
            }
            await lookUntil { isOver || app.isKilled }
            acting.cancel()
        }
    }

    /// True if the next launch deletes the data, or finds none.
    var hasBegunToForget: Bool {
        let folder = app.left.appending(path: "ada")
        return SignOutMark(in: folder).isSet || !FileManager.default.fileExists(atPath: folder.path)
            || (app.kept.current == nil)
    }

    /// Launches the app again, as an app does. Without a session there is no client.
    func restart() async throws {
        if let client { dead.append(client) }
        client = nil
        let before = app
        app = try KillableApp(network, kept: before.kept, files: before.left)
        if !before.isKilled {
            // Its process has ended, too.
            before.arm(killedAt: 0)
        }
        try PersonFolder.forgetSignedOut(in: app.folders)
        tokens = try Self.makeTokens(app, clock)
        if await tokens.session != nil { try await start() }
    }

    // MARK: What has to hold

    func checkSignedIn(texts: [String], _ run: String) async throws {
        let client = try #require(client, "\(run): the person is signed out")
        await settle { self.server.texts(in: self.roomID).count >= texts.count }
        #expect(server.texts(in: roomID) == texts, "\(run)")
        var stored = try await client.api.elements(in: roomID).items.count
        for _ in 0..<100 where stored < notes {
            await TestClock.settle()
            await clock.advance(by: .seconds(1))
            stored = try await client.api.elements(in: roomID).items.count
        }
        #expect(stored == notes, "\(run)")
        #expect(await tokens.session != nil, "\(run)")
        #expect(server.sessionCount(of: ada.id) == 1, "\(run)")
        #expect(server.devices(of: ada.id) == ["01"], "\(run)")
        await client.stop()
    }

    func checkSignedOut(_ run: String) async throws {
        // Before the first step that is on the disk, the person is still signed in.
        if let client { try await client.signOut() }
        let tokens = tokens
        await tokens.noteConnection()
        await settle { self.app.kept == KeptSessions() }
        #expect(app.kept == KeptSessions(), "\(run)")
        #expect(server.sessionCount(of: ada.id) == 0, "\(run)")
        #expect(server.devices(of: ada.id) == [], "\(run)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: app.folders.path)
        #expect(files.filter { $0 != "ada" } == [], "\(run)")
    }

    private func settle(until isSo: () -> Bool) async {
        for _ in 0..<200 where !isSo() {
            await TestClock.settle()
            if !isSo() { await clock.advance(by: .seconds(1)) }
        }
    }
}
