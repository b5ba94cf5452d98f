import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

/// What a client leaves to nobody: its socket, its events, what it writes and asks.
@MainActor
@Suite("RoomsClient, frugal", .timeLimit(.minutes(1)))
struct RoomsClientUpkeepTests {
    private let clock = TestClock()
    private let server: ScriptedServer
    private let (ada, ben): (Person, Person)
    private let roomID: String
    private let device: ScriptedDevice
    private let temporary = TemporaryFolder()

    init() throws {
        server = ScriptedServer(clock: clock)
        (ada, ben) = (server.addPerson("ada"), server.addPerson("ben"))
        roomID = try server.makeRoom(by: ada.id, with: ben.id, name: "Plans")
        device = server.makeDevice()
    }

    private func makeClient(paths: (any NetworkPaths)? = nil) throws -> RoomsClient {
        RoomsClient(
            server: try #require(URL(string: "https://chat.example")), user: ada,
            tokens: ScriptedTokens(of: ada, on: server), http: device, sockets: device, clock: clock,
            folder: temporary.url, paths: paths)
    }

    private func connected() async throws -> RoomsClient {
        let client = try makeClient()
        await client.start()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded }
        await TestClock.settle()
        return client
    }

    @Test("a client that nobody holds any more closes its socket")
    func letGo() async throws {
        var client: RoomsClient? = try await connected()
        #expect(device.socketCount == 1)
        #expect(client != nil)
        client = nil
        await lookUntil { device.socketCount == 0 }
    }

    /// - Returns: whether the client that has left it is gone.
    private func leaveUnsent() async throws -> @MainActor () -> Bool {
        let client = try await connected()
        device.setAirplaneMode(true)
        let room = try #require(client.rooms[roomID])
        let board = client.openBoard(room)
        board.create(type: "note", content: [:])
        await board.keepAll()
        let conversation = client.open(room)
        conversation.send("Hello")
        await conversation.keepAll()
        return { [weak client] in client == nil }
    }

    @Test("a client that nobody holds any more sends nothing, and the next one does")
    func letGoUnsent() async throws {
        let isGone = try await leaveUnsent()
        await lookUntil { isGone() }
        await TestClock.settle()
        let requests = device.requests
        device.setAirplaneMode(false)
        for _ in 0..<5 { await clock.advance(by: .seconds(60)) }
        #expect(device.requests == requests)
        let next = try await connected()
        await lookUntil { server.texts(in: roomID) == ["Hello"] && next.rooms[roomID]?.elementCount == 1 }
        await next.stop()
    }

    @Test("every event comes to everyone who has asked, in order")
    func events() async throws {
        let client = try await connected()
        var (first, second) = (client.events().makeAsyncIterator(), client.events().makeAsyncIterator())
        let id = try server.post("Hello", in: roomID, by: ben.id)
        for event in [await first.next(), await second.next()] {
            guard case .messageNewGlobal(roomID, id, ben.id, _) = event else {
                Issue.record("\(String(describing: event)) is not it")
                continue
            }
        }
        await client.stop()
    }

    @Test("entering a room again on the same connection asks for no page, and what came meanwhile is there")
    func freshCache() async throws {
        for number in 1...60 { try server.post("\(number)", in: roomID, by: ada.id) }
        let client = try await connected()
        let pages = { device.requests.count { $0 == "GET /api/rooms/\(roomID)/messages" } }
        let room = try #require(client.rooms[roomID])
        let first = client.open(room)
        await lookUntil { first.isVerified }
        await client.close(first)
        await lookUntil { device.requests.contains("room:leave") }
        let before = pages()
        let lost = try server.post("old", in: roomID, by: ben.id)
        try server.post("new", in: roomID, by: ben.id)
        try server.deleteMessage(lost, in: roomID, by: ben.id)
        for _ in 0..<10 {
            let left = device.requests.count { $0 == "room:leave" }
            let conversation = client.open(room)
            await lookUntil { conversation.isVerified && conversation.items.last?.text == "new" }
            #expect(!conversation.items.contains { $0.text == "old" })
            #expect(conversation.hasOlder)
            await client.close(conversation)
            await lookUntil { device.requests.count { $0 == "room:leave" } > left }
            await TestClock.settle()
        }
        #expect(pages() == before)
        // A connection that comes back may have missed what happened in a room that is not open.
        device.dropSockets()
        await lookUntil { client.connection != .connected }
        try server.post("newest", in: roomID, by: ben.id)
        await clock.advance(by: .seconds(1))
        await lookUntil { client.connection == .connected }
        await TestClock.settle()
        let conversation = client.open(room)
        await lookUntil { conversation.isVerified && conversation.items.last?.text == "newest" }
        await client.stop()
    }

    @Test("a room opens down to its first unread message, and all can be marked as read")
    func firstUnread() async throws {
        try server.post("read", in: roomID, by: ada.id)
        for number in 1...120 { try server.post("\(number)", in: roomID, by: ben.id) }
        let client = try await connected()
        let conversation = client.open(try #require(client.rooms[roomID]))
        await lookUntil { conversation.isVerified }
        let first = conversation.items.first { $0.id == conversation.firstUnread }
        #expect(first?.text == "1")
        // While it was loading, and for half a second after, nothing is read.
        conversation.noteVisible(conversation.items)
        await clock.advance(by: .milliseconds(400))
        conversation.noteHidden(conversation.items)
        await clock.advance(by: .seconds(5))
        #expect(!device.requests.contains("messages:mark-read"))
        try await conversation.markAllRead()
        await lookUntil { client.rooms.counts[roomID].unreadMessages == 0 }
        await client.stop()
    }

    @Test("a better network is used at once")
    func paths() async throws {
        let paths = ScriptedPaths()
        let client = try makeClient(paths: paths)
        device.setAirplaneMode(true)
        await client.start()
        await lookUntil { if case .waiting = client.connection { true } else { false } }
        device.setAirplaneMode(false)
        paths.improve()
        // The clock stands: no pause has ended.
        await lookUntil { client.connection == .connected }
        await client.stop()
    }

    private struct ScriptedPaths: NetworkPaths {
        private let stream = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        func improvements() -> AsyncStream<Void> { stream.stream }
        func improve() { stream.continuation.yield() }
    }
}

@Suite("Rooms on disk, frugally")
struct RoomListJournalTests {
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url }

    private func size(_ name: String) -> Int {
        (try? Data(contentsOf: folder.appending(path: name)).count) ?? 0
    }

    @Test("33 changes of one room in 501 write less than a twentieth of writing all each time")
    func journal() async {
        let cache = RoomListCache(folder: folder)
        var rooms = (0..<501).map { Given.room("room-\($0)") }
        await cache.keep(rooms)
        let whole = size("rooms.json")
        for number in 1...33 {
            rooms[100].elementCount = number
            await cache.keep(rooms)
        }
        #expect(size("rooms.journal") * 20 < 33 * whole)
        #expect(await RoomListCache(folder: folder).rooms().first { $0.id == "room-100" }?.elementCount == 33)
        rooms.remove(at: 100)
        await cache.keep(rooms)
        #expect(await RoomListCache(folder: folder).rooms().count == 500)
        // What is gone is in no file.
        #expect(size("rooms.journal") == 0)
    }

    @Test("a journal that was cut off anywhere, or is of an older file, gives what was whole")
    func torn() async throws {
        let cache = RoomListCache(folder: folder)
        var rooms = (0..<40).map { Given.room("room-\($0)") }
        await cache.keep(rooms)
        rooms[3].elementCount = 7
        await cache.keep(rooms)
        let journal = folder.appending(path: "rooms.journal")
        let data = try Data(contentsOf: journal)
        for count in stride(from: 0, to: data.count, by: 7) {
            try data.prefix(count).write(to: journal)
            let kept = await RoomListCache(folder: folder).rooms()
            #expect(kept.count == 40 && kept.first { $0.id == "room-3" }?.elementCount == 0)
        }
        try data.dropLast(5).write(to: journal)
        let next = RoomListCache(folder: folder)
        #expect(await next.rooms().count == 40)
        await next.keep(rooms)
        // Behind the rest of a line it could not be read.
        #expect(await RoomListCache(folder: folder).rooms().first { $0.id == "room-3" }?.elementCount == 7)
        await RoomListCache(folder: folder).keep(Array(rooms.prefix(2)))
        try data.write(to: journal)
        #expect(await RoomListCache(folder: folder).rooms().count == 2)
    }
}
