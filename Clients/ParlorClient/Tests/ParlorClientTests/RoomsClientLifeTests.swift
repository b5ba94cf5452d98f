import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

/// Tests of background, foreground and sign-out with an open room, on a scripted server.
@MainActor
@Suite("RoomsClient: the app's life cycle", .timeLimit(.minutes(1)))
struct RoomsClientLifeTests {
    private let home: AdasDevice
    private let client: RoomsClient

    init() throws {
        home = try AdasDevice()
        client = home.makeClient()
    }

    /// Connects, opens a room, and reads a message in it.
    private func readMessage() async throws {
        let conversation = try await home.openRoom(with: client)
        try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 1 }
        conversation.noteVisible(conversation.items)
        await TestClock.settle()
        await home.clock.advance(by: .milliseconds(500))
    }

    @Test("going to the background sends receipts, then disconnects; the foreground reconnects")
    func background() async throws {
        try await readMessage()
        #expect(await client.enterBackground() == .settled)
        #expect(home.device.requests.contains("messages:mark-read"))
        #expect(home.device.socketCount == 0)
        await lookUntil { client.connection == .idle }
        await client.enterForeground()
        await lookUntil { client.connection == .connected }
        await client.stop()
    }

    @Test("going to the background does not disconnect if the app comes back before it is done")
    func backAgain() async throws {
        try await readMessage()
        home.device.holdAcks()
        let background = Task { await client.enterBackground() }
        await lookUntil { home.device.requests.contains("messages:mark-read") }
        await client.enterForeground()
        home.device.release()
        #expect(await background.value == .overtaken)
        await TestClock.settle()
        #expect(home.device.socketCount == 1)
        #expect(client.connection == .connected)
        await client.stop()
    }

    @Test("on a dead network, the app is in the background after its time limit")
    func deadNetwork() async throws {
        try await readMessage()
        home.device.holdAcks()
        home.device.delayAnswers(by: .seconds(30))
        let background = Task { await client.enterBackground(within: .seconds(3)) }
        await lookUntil { home.device.requests.contains("messages:mark-read") }
        await home.clock.advance(by: .seconds(3))
        #expect(await background.value == .outOfTime(unsent: 1))
        #expect(home.device.socketCount == 0)
        await lookUntil { client.connection == .idle }
    }

    @Test("after going to the background nothing is sent, also if there was not enough time")
    func quietAfterwards() async throws {
        let conversation = try await home.openRoom(with: client)
        home.device.setAirplaneMode(true)
        conversation.send("Later")
        let background = Task { await client.enterBackground(within: .seconds(3)) }
        await TestClock.settle()
        await home.clock.advance(by: .seconds(3))
        #expect(await background.value == .outOfTime(unsent: 1))
        home.device.setAirplaneMode(false)
        let before = home.device.requests
        await home.clock.advance(by: .seconds(120))
        await TestClock.settle()
        #expect(home.device.requests == before)
        await client.enterForeground()
        await lookUntil { home.server.texts(in: home.roomID) == ["Later"] }
        await client.stop()
    }

    @Test("after a stop, going to the background sends nothing, and returns the number of unsent messages")
    func backgroundWhenStopped() async throws {
        let conversation = try await home.openRoom(with: client)
        await client.stop()
        conversation.send("Later")
        #expect(await client.enterBackground() == .waiting(unsent: 1))
        #expect(home.server.texts(in: home.roomID) == [])
    }

    @Test("what is not sent is counted: messages, and changes of boards, also those of boards that are closed")
    func unsent() async throws {
        await home.connect(client)
        #expect(try await client.unsentCount() == 0)
        let room = try #require(client.rooms[home.roomID])
        let opened = client.open(room)
        let (conversation, board) = (opened.conversation, opened.board)
        await lookUntil { conversation.isVerified && board.isVerified }
        home.device.setAirplaneMode(true)
        conversation.send("Later")
        board.create(type: "note", content: [:])
        board.create(type: "note", content: [:])
        await opened.closeAndKeep()
        await lookUntil { (try? await client.unsentCount()) == 3 }
        await client.stop()
    }

    @Test("a second client does not start on the folder of one in use, and loses none of its texts")
    func secondClient() async throws {
        await home.connect(client)
        let room = try #require(client.rooms[home.roomID])
        let conversation = client.openConversation(room)
        home.device.setAirplaneMode(true)
        conversation.send("first")
        let device = home.server.makeDevice()
        let second = home.makeClient(http: device, sockets: device)
        await second.start()
        guard case .ended(let failure) = second.connection else { throw ClientFailure.unreadable("it has started") }
        #expect(failure.code == "in_use" && device.requests.isEmpty)
        // What is typed there stays in view, and says why it is not kept.
        let other = second.openConversation(room)
        other.send("elsewhere")
        await lookUntil { if case .failed = other.items.first?.state { true } else { false } }
        conversation.send("second")
        await lookUntil { await client.local.outbox.messages(in: home.roomID).count == 2 }
        await client.endProcess()

        await second.start()
        await lookUntil { home.server.texts(in: home.roomID) == ["first", "second"] }
        let failed = try #require(other.items.last)
        await other.retry(failed.id)
        await lookUntil { home.server.texts(in: home.roomID) == ["first", "second", "elsewhere"] }
        await second.stop()
    }

    @Test("a sign-out deletes nothing in a folder that another client has, and the next start does")
    func signOutBeside() async throws {
        await home.connect(client)
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        home.device.setAirplaneMode(true)
        conversation.send("first")
        let outbox = home.temporary.url.appending(path: "outbox")
        func files() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: outbox.path)) ?? [] }
        await lookUntil { !files().isEmpty }
        let device = home.server.makeDevice()
        let second = home.makeClient(http: device, sockets: device)
        let failure = await #expect(throws: ClientFailure.self) { try await second.signOut() }
        #expect(failure?.code == "in_use" && !files().isEmpty)
        await client.endProcess()
        let next = home.makeClient()
        await next.start()
        #expect(files().isEmpty)
        await next.stop()
    }

    @Test("messages that cannot be counted are not counted as none")
    func uncountable() async throws {
        await home.connect(client)
        await client.endProcess()
        // A file in the place of the folder cannot be listed.
        try Data().write(to: home.temporary.url.appending(path: "outbox"))
        let next = home.makeClient()
        await #expect(throws: (any Error).self) { try await next.unsentCount() }
        #expect(await next.enterBackground() == .waiting(unsent: nil))
    }

    @Test("a message that the server refuses is counted as waiting")
    func backgroundWithRefused() async throws {
        await home.connect(client)
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        home.server.refuseNext("message:send", with: Refusal(code: "forbidden", message: "Not you.", status: 403))
        conversation.send("Never")
        #expect(await client.enterBackground() == .waiting(unsent: 1))
        await client.stop()
    }

    @Test("a stop or sign-out during a start leaves it disconnected", arguments: [false, true])
    func stoppedWhileStarting(signsOut: Bool) async throws {
        let starting = Task { await client.start() }
        // This task runs after the start has begun, and before the disk has answered.
        let ending = Task { if signsOut { try await client.signOut() } else { await client.stop() } }
        await starting.value
        try await ending.value
        await TestClock.settle()
        #expect(home.device.socketCount == 0)
        #expect(client.connection == .idle)
    }

    @Test("signing out does not wait for the network, and leaves nothing on the device")
    func signingOut() async throws {
        try await readMessage()
        home.device.holdAcks()
        home.device.delayAnswers(by: .seconds(30))
        client.openConversation(try #require(client.rooms[home.roomID])).send("never sent")
        await TestClock.settle()
        try await client.signOut()
        #expect(!home.device.requests.contains("messages:mark-read"))
        #expect(home.device.socketCount == 0)
        home.device.release()
        home.device.delayAnswers(by: .zero)
        await expectNoTrace()
    }

    /// Tokens with a store that fails to save a sign-out.
    private struct LockedTokens: TokenProvider {
        let tokens: ScriptedTokens

        func token() async throws -> String { try await tokens.token() }
        func token(replacing refused: String) async throws -> String { try await tokens.token(replacing: refused) }
        func signOut(device token: String?) async throws { throw CocoaError(.fileWriteNoPermission) }
    }

    @Test("a sign-out that cannot be stored throws, and still leaves nothing on the device")
    func lockedStore() async throws {
        let client = home.makeClient(tokens: LockedTokens(tokens: ScriptedTokens(of: home.ada, on: home.server)))
        await home.connect(client)
        await #expect(throws: CocoaError.self) { try await client.signOut() }
        await expectNoTrace()
    }

    @Test("what an interrupted sign-out left is never sent nor shown, also if the disk refuses to delete it")
    func interruptedSignOut() async throws {
        await home.connect(client)
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await client.stop()
        conversation.send("signed out of")
        #expect(await client.enterBackground() == .waiting(unsent: 1))
        await client.endProcess()
        // An app that ends in the middle of a sign-out leaves this file.
        try Data().write(to: home.temporary.url.appending(path: "signed-out"))
        let next = home.makeClient()
        // A tap on a notification may open the room before the start.
        let opened = try await next.open(roomID: home.roomID)
        let board = opened.board
        #expect(next.rooms.rooms.isEmpty)
        await lookUntil { board.keepFailure != nil }
        await home.clock.advance(by: .seconds(60))
        await #expect(throws: ClientFailure.self) { try await next.unsentCount() }
        #expect(opened.conversation.items.isEmpty && home.server.texts(in: home.roomID) == [])
        next.local.folder.removeFile = { url in
            guard url.lastPathComponent != "outbox" else { throw CocoaError(.fileWriteNoPermission) }
            try FileManager.default.removeItem(at: url)
        }
        for begin in [{ await next.start() }, { await next.enterForeground() }] {
            let requests = home.device.requests
            await begin()
            for _ in 0..<5 { await home.clock.advance(by: .seconds(60)) }
            guard case .ended(let failure) = next.connection else {
                Issue.record("it is \(next.connection)")
                continue
            }
            #expect(failure.code == "not_forgotten")
            #expect(next.rooms.rooms.isEmpty && home.device.requests == requests)
            _ = try await next.open(roomID: home.roomID)
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: home.temporary.url.path).sorted()
        #expect(left == ["outbox", "signed-out"], "all that can be deleted is")
        next.local.folder.removeFile = { try FileManager.default.removeItem(at: $0) }
        await next.start()
        await lookUntil { next.connection == .connected && next.rooms.isLoaded }
        await home.clock.advance(by: .seconds(60))
        #expect(home.server.texts(in: home.roomID) == [] && opened.conversation.items.isEmpty)
        #expect(try await next.unsentCount() == 0)
        opened.conversation.send("signed in again")
        await lookUntil { opened.conversation.items.map(\.state) == [.stored] }
        #expect(home.server.texts(in: home.roomID) == ["signed in again"])
        await next.stop()
    }

    /// Expects that nothing is sent or stored in the minute after the sign-out.
    private func expectNoTrace() async {
        for _ in 0..<60 { await home.clock.advance(by: .seconds(1)) }
        #expect(home.device.socketCount == 0)
        #expect(client.connection == .idle)
        #expect(!home.device.requests.contains { $0.contains("read") })
        let kept = try? FileManager.default.subpathsOfDirectory(atPath: home.temporary.url.path)
        #expect(kept ?? [] == [], "no folder is as good")
    }

    @Test("during and after a sign-out, no room is opened, and nothing connects", arguments: 0..<20)
    func signedOut(turns: Int) async throws {
        try await readMessage()
        let room = try #require(client.rooms[home.roomID])
        let signingOut = Task { try await client.signOut() }
        for _ in 0...turns { await Task.yield() }
        func begin() async {
            let conversation = client.openConversation(room)
            await client.enterForeground()
            await TestClock.settle()
            conversation.noteVisible(conversation.items)
            conversation.send("never kept")
            await client.local.conversations.close(conversation)
        }
        await begin()
        try await signingOut.value
        await begin()
        await client.start()
        #expect(!home.device.requests.contains("message:send"))
        await expectNoTrace()
    }

    @Test("after a stop, nothing is sent until the next start, which sends what waits")
    func stopped() async throws {
        try await readMessage()
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        home.device.setAirplaneMode(true)
        conversation.send("Later")
        await home.clock.advance(by: .seconds(5))
        await client.stop()
        home.device.setAirplaneMode(false)
        let asked = home.device.requests.count
        await home.clock.advance(by: .seconds(120))
        #expect(home.device.requests.dropFirst(asked) == [])
        await client.start()
        await lookUntil { conversation.items.last?.seq != nil && conversation.items.count == 2 }
        await client.stop()
    }

    @Test("in the background, typed messages are on the disk, and receipts of a closed room are sent")
    func backgroundAtOnce() async throws {
        try await readMessage()
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        home.device.holdAcks()
        for number in 0..<50 { conversation.send("\(number)") }
        for _ in 0..<2 { await client.local.conversations.close(conversation) }
        let background = Task { await client.enterBackground() }
        await lookUntil { home.device.requests.contains("messages:mark-read") }
        #expect(try await client.local.outbox.unsentCount() == 50)
        home.device.release()
        // `enterBackground` also waits for the messages, because after it the system may end the app at any time.
        #expect(await background.value == .settled)
        #expect(try await client.local.outbox.unsentCount() == 0)
    }

    @Test("unsent messages that could not be read are read with the next connection, which clears the failure")
    func lockedDevice() async throws {
        let outbox = home.temporary.url.appending(path: "outbox")
        let locked = outbox.appending(path: "locked%2F1.json")
        // A folder in the place of a file cannot be read, just as a locked file cannot.
        try FileManager.default.createDirectory(at: locked, withIntermediateDirectories: true)
        await client.start()
        await lookUntil { client.connection == .connected }
        await TestClock.settle()
        #expect(client.outboxFailure != nil)
        try FileManager.default.removeItem(at: locked)
        try Data("{".utf8).write(to: outbox.appending(path: "broken%2F1.json"))
        home.device.dropSockets()
        await lookUntil { client.connection != .connected }
        await home.clock.advance(by: .seconds(1))
        await lookUntil { client.connection == .connected }
        await lookUntil { client.outboxFailure == nil && client.setAside.count == 1 }
        await client.stop()
    }

    @Test("unsent messages that were unreadable are read with a message typed offline, which clears the failure")
    func unlockedOffline() async throws {
        let outbox = home.temporary.url.appending(path: "outbox")
        let locked = outbox.appending(path: "locked%2F1.json")
        // A folder in the place of a file cannot be read, just as a locked file cannot.
        try FileManager.default.createDirectory(at: locked, withIntermediateDirectories: true)
        home.device.setAirplaneMode(true)
        await client.start()
        #expect(client.outboxFailure != nil)
        try FileManager.default.removeItem(at: locked)
        try Data("{".utf8).write(to: outbox.appending(path: "broken%2F1.json"))
        let message = PendingMessage(tempID: "t", text: "Hello", createdAt: home.clock.now)
        try await client.local.outbox.append(message, in: home.roomID)
        await lookUntil { client.outboxFailure == nil && client.setAside.count == 1 }
        await client.stop()
    }

    @Test("in the foreground without a network, the connection is waiting and has the reason")
    func waiting() async throws {
        home.device.setAirplaneMode(true)
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
