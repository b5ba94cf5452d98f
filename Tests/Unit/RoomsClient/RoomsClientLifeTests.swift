import Foundation
import RoomsClient
import RoomsClientTesting
import Testing

/// To the background and back, and out, with a room open, on a scripted server.
@MainActor
@Suite("RoomsClient, the app's life", .timeLimit(.minutes(1)))
struct RoomsClientLifeTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let device: ScriptedDevice
    private let client: RoomsClient
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url }

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
        client = RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: device, sockets: device, clock: clock,
            folder: temporary.url)
    }

    /// Connected, with a room open, in which a message was read just now.
    private func readMessage() async throws {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        try server.post("Hello", in: roomID, by: ben.id)
        await lookUntil { conversation.items.count == 1 }
        conversation.noteVisible(conversation.items)
        await TestClock.settle()
        await clock.advance(by: .milliseconds(500))
    }

    @Test("into the background: what was read is told, then the connection ends; it comes back with the app")
    func background() async throws {
        try await readMessage()
        #expect(await client.enterBackground() == .settled)
        #expect(device.requests.contains("messages:mark-read"))
        #expect(device.socketCount == 0)
        await lookUntil { client.connection == .idle }
        await client.enterForeground()
        await lookUntil { client.connection == .connected }
        await client.stop()
    }

    @Test("a way to the background that ends after the app has come back ends no connection")
    func backAgain() async throws {
        try await readMessage()
        device.holdAcks()
        let background = Task { await client.enterBackground() }
        await lookUntil { device.requests.contains("messages:mark-read") }
        await client.enterForeground()
        device.release()
        #expect(await background.value == .overtaken)
        await TestClock.settle()
        #expect(device.socketCount == 1)
        #expect(client.connection == .connected)
        await client.stop()
    }

    @Test("on a dead network the app is in the background after the time that it has")
    func deadNetwork() async throws {
        try await readMessage()
        device.holdAcks()
        device.delayAnswers(by: .seconds(30))
        let background = Task { await client.enterBackground(within: .seconds(3)) }
        await lookUntil { device.requests.contains("messages:mark-read") }
        await clock.advance(by: .seconds(3))
        #expect(await background.value == .outOfTime(unsent: 0))
        #expect(device.socketCount == 0)
        await lookUntil { client.connection == .idle }
    }

    @Test("stopped before, it sends nothing on the way to the background, and says how much waits")
    func backgroundWhenStopped() async throws {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        await client.stop()
        conversation.send("Later")
        #expect(await client.enterBackground() == .waiting(unsent: 1))
        #expect(server.texts(in: roomID) == [])
    }

    @Test("a message that the server refuses waits for its person, and is not settled")
    func backgroundWithRefused() async throws {
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.open(try #require(client.rooms[roomID]))
        server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        conversation.send("Never")
        #expect(await client.enterBackground() == .waiting(unsent: 1))
        await client.stop()
    }

    @Test("one who stops, or signs out, while it starts is not connected afterwards", arguments: [false, true])
    func stoppedWhileStarting(signsOut: Bool) async throws {
        let starting = Task { await client.start() }
        // Behind it: before the disk has answered it.
        let ending = Task { if signsOut { try await client.signOut() } else { await client.stop() } }
        await starting.value
        try await ending.value
        await TestClock.settle()
        #expect(device.socketCount == 0)
        #expect(client.connection == .idle)
    }

    @Test("signing out waits for no network, and leaves nothing on the device")
    func signingOut() async throws {
        try await readMessage()
        device.holdAcks()
        device.delayAnswers(by: .seconds(30))
        client.open(try #require(client.rooms[roomID])).send("never sent")
        await TestClock.settle()
        try await client.signOut()
        #expect(!device.requests.contains("messages:mark-read"))
        #expect(device.socketCount == 0)
        device.release()
        device.delayAnswers(by: .zero)
        await expectNoTrace()
    }

    /// Their store takes nothing.
    private struct LockedTokens: TokenProvider {
        let tokens: ScriptedTokens

        func token() async throws -> String { try await tokens.token() }
        func token(replacing refused: String) async throws -> String { try await tokens.token(replacing: refused) }
        func signOut(device token: String?) async throws { throw CocoaError(.fileWriteNoPermission) }
    }

    @Test("a sign-out that cannot be stored says so, and leaves nothing on the device all the same")
    func lockedStore() async throws {
        let client = RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: LockedTokens(tokens: ScriptedTokens(of: ada, on: server)), http: device, sockets: device,
            clock: clock, folder: folder)
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await #expect(throws: CocoaError.self) { try await client.signOut() }
        await expectNoTrace()
    }

    /// Of what a person read and saw who has signed out, a minute later.
    private func expectNoTrace() async {
        for _ in 0..<60 { await clock.advance(by: .seconds(1)) }
        #expect(device.socketCount == 0)
        #expect(client.connection == .idle)
        #expect(!device.requests.contains { $0.contains("read") })
        let kept = try? FileManager.default.subpathsOfDirectory(atPath: folder.path)
        #expect(kept ?? [] == [], "no folder is as good")
    }

    @Test("while one signs out, and after, nothing begins: no room is opened, and nobody connected", arguments: 0..<20)
    func signedOut(turns: Int) async throws {
        try await readMessage()
        let room = try #require(client.rooms[roomID])
        let signingOut = Task { try await client.signOut() }
        for _ in 0...turns { await Task.yield() }
        func begin() async {
            let conversation = client.open(room)
            await client.enterForeground()
            await TestClock.settle()
            conversation.noteVisible(conversation.items)
            conversation.send("never kept")
            await client.close(conversation)
        }
        await begin()
        try await signingOut.value
        await begin()
        await client.start()
        #expect(!device.requests.contains("message:send"))
        await expectNoTrace()
    }

    @Test("stopped, it asks the server for nothing more, until it is started: then what is not sent is sent")
    func stopped() async throws {
        try await readMessage()
        let conversation = client.open(try #require(client.rooms[roomID]))
        device.setAirplaneMode(true)
        conversation.send("Later")
        await clock.advance(by: .seconds(5))
        await client.stop()
        device.setAirplaneMode(false)
        let asked = device.requests.count
        await clock.advance(by: .seconds(120))
        #expect(device.requests.dropFirst(asked) == [])
        await client.start()
        await lookUntil { conversation.items.last?.seq != nil && conversation.items.count == 2 }
        await client.stop()
    }

    @Test("into the background: what was typed is on the disk, and what was read in a room just closed is told")
    func backgroundAtOnce() async throws {
        try await readMessage()
        let conversation = client.open(try #require(client.rooms[roomID]))
        device.holdAcks()
        for number in 0..<50 { conversation.send("\(number)") }
        for _ in 0..<2 { await client.close(conversation) }
        let background = Task { await client.enterBackground() }
        await TestClock.settle()
        #expect(device.requests.contains("messages:mark-read"))
        #expect(try await client.outbox.unsentCount() == 50)
        device.release()
        // It waits for the messages, too: the system may end the app any time after.
        #expect(await background.value == .settled)
        #expect(try await client.outbox.unsentCount() == 0)
    }

    @Test("unsent messages that could not be read are read with the next connection, and nothing says otherwise then")
    func lockedDevice() async throws {
        let outbox = folder.appending(path: "outbox")
        let locked = outbox.appending(path: "locked%2F1.json")
        // A folder in its place: reading it fails, as of a file that is locked.
        try FileManager.default.createDirectory(at: locked, withIntermediateDirectories: true)
        await client.start()
        await lookUntil { client.connection == .connected }
        await TestClock.settle()
        #expect(client.outboxFailure != nil)
        try FileManager.default.removeItem(at: locked)
        try Data("{".utf8).write(to: outbox.appending(path: "broken%2F1.json"))
        device.dropSockets()
        await lookUntil { client.connection != .connected }
        await clock.advance(by: .seconds(1))
        await lookUntil { client.connection == .connected }
        await lookUntil { client.outboxFailure == nil && client.failures.map(\.roomID) == ["broken"] }
        await client.stop()
    }

    @Test("coming to the foreground without a network, it still says that it waits, and why")
    func waiting() async throws {
        device.setAirplaneMode(true)
        await client.start()
        await lookUntil { client.connection != .idle && client.connection != .connecting }
        await client.enterForeground()
        await TestClock.settle()
        guard case .waiting(.offline) = client.connection else {
            Issue.record("it is \(client.connection)")
            return
        }
        await client.stop()
        await lookUntil { client.connection == .idle }
    }
}
