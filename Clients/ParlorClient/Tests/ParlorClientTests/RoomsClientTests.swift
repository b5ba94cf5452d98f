import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of the whole client on a scripted server.
@MainActor
@Suite("RoomsClient", .timeLimit(.minutes(1)))
struct RoomsClientTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url }

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
    }

    private func makeClient(
        on device: ScriptedDevice, sockets: (any SocketTransport)? = nil, _ settings: RoomsClient.Settings = .init()
    ) -> RoomsClient {
        device.makeClient(of: ada, folder: folder, sockets: sockets, settings: settings)
    }

    @Test("after a start, rooms appear, an event moves and counts one, and opening it shows its messages")
    func journey() async throws {
        let device = server.makeDevice()
        let client = makeClient(on: device)
        let other = try server.makeRoom(by: ben.id, with: ada.id, name: "Trips")
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        #expect(client.rooms.rooms.map(\.id) == [other, roomID])

        try server.post("Hello", in: roomID, by: ben.id)
        await until { client.rooms.rooms.first?.id == roomID }
        await until { client.rooms[roomID]?.badges.messages == 1 }

        let room = try #require(client.rooms[roomID])
        let conversation = client.openConversation(room)
        #expect(client.openConversation(room) === conversation)
        await until { conversation.isVerified }
        #expect(conversation.items.map(\.text) == ["Hello"])
        conversation.send("Hi!")
        await until { conversation.items.last?.state == .stored }
        #expect(server.texts(in: roomID) == ["Hello", "Hi!"])
        await client.local.conversations.close(conversation)
        conversation.send("one screen is still there")
        await until { conversation.items.last?.state == .stored }
        await client.local.conversations.close(conversation)
        await client.stop()
        try await client.signOut()
    }

    @Test("a room closed as soon as it is opened is not joined; reopened, it is joined once")
    func closedAtOnce() async throws {
        let device = server.makeDevice()
        let client = makeClient(on: device)
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        let room = try #require(client.rooms[roomID])
        let first = client.openConversation(room)
        await client.local.conversations.close(first)
        #expect(!first.isEntered)

        let again = client.openConversation(room)
        await until { again.isVerified }
        async let closed: Void = client.local.conversations.close(again)
        await Task.yield()
        let third = client.openConversation(room)
        await closed
        await until { third.isVerified }
        try server.post("Hello", in: roomID, by: ben.id)
        await until { third.items.map(\.text) == ["Hello"] }
        await client.local.conversations.close(third)
        #expect(!third.isEntered)
        await client.stop()
    }

    @Test("the conversation and files of a room that is gone are removed")
    func goneRoom() async throws {
        let device = server.makeDevice()
        let client = makeClient(on: device)
        try server.post("Hello", in: roomID, by: ben.id)
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await until { conversation.isVerified }
        server.refuseNext("message:send", with: Refusal(code: "room_not_found", message: "gone"))
        conversation.send("too late")
        await until { conversation.items.last?.pending?.state.isFailed == true }
        client.rooms.forget(roomID, because: .roomGone)
        await lookUntil { !conversation.isEntered }
        #expect(conversation.items.isEmpty)
        await lookUntil { await client.local.outbox.messages(in: roomID).isEmpty }
        for name in ["cache", "outbox"] {
            let kept = try? FileManager.default.contentsOfDirectory(atPath: folder.appending(path: name).path)
            // The position of the connection is not of a room.
            #expect((kept ?? []).filter { $0 != "sync" } == [], "no folder is as good")
        }
        await client.stop()
    }

    @Test("messages typed in airplane mode are sent after the app was killed and restarted")
    func offline() async throws {
        let device = server.makeDevice()
        device.setAirplaneMode(true)
        let client = makeClient(on: device)
        await client.start()
        await until { if case .waiting = client.connection { true } else { false } }
        let room = Room(
            id: roomID, displayName: "Plans", createdBy: ada.id, createdAt: clock.now, updatedAt: clock.now,
            lastActivityAt: clock.now)
        let conversation = client.openConversation(room)
        for number in 1...3 { conversation.send("number \(number)") }
        #expect(conversation.items.map(\.state) == [.queued, .queued, .queued])
        await lookUntil { await client.local.outbox.messages(in: roomID).count >= 3 }
        await client.local.outbox.stop()
        await client.endProcess()

        device.setAirplaneMode(false)
        let again = makeClient(on: device)
        await again.start()
        await lookUntil { server.texts(in: roomID).count >= 3 }
        #expect(server.texts(in: roomID) == ["number 1", "number 2", "number 3"])
        try await again.signOut()
        #expect(await again.local.outbox.messages(in: roomID).isEmpty)
    }

    @Test("a start fetches all rooms twice: at once, and after the missed events")
    func asks() async throws {
        let device = server.makeDevice()
        let client = makeClient(on: device)
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        await clock.advance(by: .seconds(60))
        #expect(device.requests.count { $0 == "GET /api/rooms/my-rooms" } == 2)
        await client.stop()
    }

    private struct NoSockets: SocketTransport {
        func connect(to url: URL) async throws -> any SocketConnection { throw ClientFailure.offline("403") }
    }

    @Test("without sockets, rooms are still loaded")
    func withoutSockets() async throws {
        let client = makeClient(on: server.makeDevice(), sockets: NoSockets())
        await client.start()
        await until { client.rooms.isLoaded }
        #expect(client.rooms.rooms.map(\.id) == [roomID])
        await client.stop()
    }

    @Test("an offline start shows the cached rooms and the failure, until the server answers")
    func offlineStart() async throws {
        let device = server.makeDevice()
        let client = makeClient(on: device)
        await client.start()
        await until { client.rooms.isLoaded }
        await TestClock.settle()
        await client.endProcess()

        device.setAirplaneMode(true)
        let again = makeClient(on: device)
        await again.start()
        await until { again.rooms.failure != nil }
        #expect(again.rooms.rooms.map(\.id) == [roomID])
        #expect(again.rooms[roomID]?.displayName == "Plans")
        #expect(!again.rooms.isLoaded)
        try server.rename(roomID, to: "Trips", by: ben.id)
        device.setAirplaneMode(false)
        await again.enterForeground()
        await until { again.rooms.isLoaded }
        #expect(again.rooms[roomID]?.displayName == "Trips")
        #expect(again.rooms.failure == nil)
        await again.stop()
    }

    @Test("each setting reaches its part of the client")
    func settings() async throws {
        var settings = RoomsClient.Settings()
        settings.order = .content
        settings.messageLimit = 2
        settings.conversation.pageSize = 3
        settings.receipts.pause = .milliseconds(100)
        for number in 1...5 { try server.post("\(number)", in: roomID, by: number < 3 ? ada.id : ben.id) }
        let device = server.makeDevice()
        let client = makeClient(on: device, settings)
        #expect(client.rooms.order == .content)
        await client.start()
        await until { client.connection == .connected && client.rooms.isLoaded }
        let conversation = client.openConversation(try #require(client.rooms[roomID]))
        await until { conversation.isVerified }
        #expect(conversation.items.map(\.text) == ["3", "4", "5"])
        conversation.noteVisible(conversation.items)
        await TestClock.settle()
        await clock.advance(by: .milliseconds(500))
        await clock.advance(by: .milliseconds(100))
        await until { device.requests.contains("messages:mark-read") }
        await client.local.conversations.close(conversation)
        let kept = await MessageCache(files: RoomFiles(folder: folder.appending(path: "cache")), clock: clock).openRoom(
            roomID)
        #expect(kept.map(\.text) == ["4", "5"])
        await client.stop()
    }
}
