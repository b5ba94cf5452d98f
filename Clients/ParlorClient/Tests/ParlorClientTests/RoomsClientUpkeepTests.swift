import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of how a client ends, of its events, and of what it fetches and writes.
@MainActor
@Suite("RoomsClient: saving resources", .timeLimit(.minutes(1)))
struct RoomsClientUpkeepTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    @Test("a client without references closes its socket")
    func letGo() async throws {
        var client: RoomsClient? = try await home.connected()
        #expect(home.device.socketCount == 1)
        #expect(client != nil)
        client = nil
        await lookUntil { home.device.socketCount == 0 }
    }

    /// Makes unsent changes, and drops the client.
    ///
    /// - Returns: a function that says whether the client has been deallocated.
    private func leaveUnsent() async throws -> @MainActor () -> Bool {
        let client = try await home.connected()
        home.device.setAirplaneMode(true)
        let room = try #require(client.rooms[home.roomID])
        let conversation = client.openConversation(room)
        let board = client.openBoard(of: conversation)
        board.create(type: "note", content: [:])
        await board.keepAll()
        conversation.send("Hello")
        await conversation.keepAll()
        return { [weak client] in client == nil }
    }

    @Test("a client without references sends nothing, and the next client does")
    func letGoUnsent() async throws {
        let isGone = try await leaveUnsent()
        await lookUntil { isGone() }
        await TestClock.settle()
        let requests = home.device.requests
        home.device.setAirplaneMode(false)
        for _ in 0..<5 { await home.clock.advance(by: .seconds(60)) }
        #expect(home.device.requests == requests)
        let next = try await home.connected()
        await lookUntil { home.server.texts(in: home.roomID) == ["Hello"] }
        await lookUntil { next.rooms[home.roomID]?.elementCount == 1 }
        await next.stop()
    }

    @Test("every event reaches all streams, in order")
    func events() async throws {
        let client = try await home.connected()
        var (first, second) = (client.events().makeAsyncIterator(), client.events().makeAsyncIterator())
        let id = try home.server.post("Hello", in: home.roomID, by: home.ben.id)
        for event in [await first.next(), await second.next()] {
            guard case .messageNewGlobal(home.roomID, id, home.ben.id, _) = event else {
                Issue.record("\(String(describing: event)) is not it")
                continue
            }
        }
        await client.stop()
    }

    @Test("500 messages that a join brings come up in a few versions")
    func joinBringsMany() async throws {
        try home.server.post("first", in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let first = client.openConversation(room)
        await lookUntil { first.isVerified }
        await client.local.conversations.close(first)
        await lookUntil { home.device.requests.contains("room:leave") }
        for number in 1...500 { try home.server.post("\(number)", in: home.roomID, by: home.ben.id) }
        let before = first.version
        let conversation = client.openConversation(room)
        await lookUntil { conversation.isVerified && conversation.items.last?.text == "500" }
        #expect(conversation.items.count == 501)
        #expect(conversation.version - (conversation === first ? before : 0) <= 5)
        // The next message is shown at once.
        let version = conversation.version
        try home.server.post("live", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.last?.text == "live" }
        #expect(conversation.version == version + 1)
        await client.stop()
    }

    @Test("a room entered again on the same connection has the events meanwhile, and asks only for a deleted one")
    func freshCache() async throws {
        for number in 1...60 { try home.server.post("\(number)", in: home.roomID, by: home.ada.id) }
        let client = try await home.connected()
        let pages = { home.device.requests.count { $0 == "GET /api/rooms/\(home.roomID)/messages" } }
        let room = try #require(client.rooms[home.roomID])
        let first = client.openConversation(room)
        await lookUntil { first.isVerified }
        await client.local.conversations.close(first)
        await lookUntil { home.device.requests.contains("room:leave") }
        let before = pages()
        let lost = try home.server.post("old", in: home.roomID, by: home.ben.id)
        try home.server.post("new", in: home.roomID, by: home.ben.id)
        try home.server.deleteMessage(lost, in: home.roomID, by: home.ben.id)
        for _ in 0..<10 {
            let left = home.device.requests.count { $0 == "room:leave" }
            let conversation = client.openConversation(room)
            await lookUntil { conversation.isVerified && conversation.items.last?.text == "new" }
            #expect(!conversation.items.contains { $0.text == "old" })
            #expect(conversation.hasOlder)
            await client.local.conversations.close(conversation)
            await lookUntil { home.device.requests.count { $0 == "room:leave" } > left }
            await TestClock.settle()
        }
        // The deleted message is in no replay. Its number is missing, so the client asks once.
        #expect(pages() == before + 1)
        // After a reconnect, events of a room that is not open may be missing, so a page is fetched.
        home.device.dropSockets()
        await lookUntil { client.connection != .connected }
        try home.server.post("newest", in: home.roomID, by: home.ben.id)
        await home.clock.advance(by: .seconds(1))
        await lookUntil { client.connection == .connected }
        await TestClock.settle()
        let conversation = client.openConversation(room)
        await lookUntil { conversation.isVerified && conversation.items.last?.text == "newest" }
        await client.stop()
    }

    @Test("a room is loaded down to its first unread message, and all messages can be marked as read")
    func firstUnread() async throws {
        try home.server.post("read", in: home.roomID, by: home.ada.id)
        for number in 1...120 { try home.server.post("\(number)", in: home.roomID, by: home.ben.id) }
        let client = try await home.connected()
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        let first = conversation.items.first { $0.id == conversation.firstUnread }
        #expect(first?.text == "1")
        // Messages that were on the screen for less than half a second are not read.
        conversation.noteVisible(conversation.items)
        await home.clock.advance(by: .milliseconds(400))
        conversation.noteHidden(conversation.items)
        await home.clock.advance(by: .seconds(5))
        #expect(!home.device.requests.contains("messages:mark-read"))
        try await conversation.markAllRead()
        await lookUntil { client.rooms.counts[home.roomID].unreadMessages == 0 }
        await client.stop()
    }

    @Test("a better network is used at once")
    func paths() async throws {
        let paths = ScriptedPaths()
        let client = home.makeClient(paths: paths)
        home.device.setAirplaneMode(true)
        await client.start()
        await lookUntil { if case .waiting = client.connection { true } else { false } }
        home.device.setAirplaneMode(false)
        paths.improve()
        // The home.clock stands still, so no pause has ended.
        await lookUntil { client.connection == .connected }
        await client.stop()
    }

    private struct ScriptedPaths: NetworkPaths {
        private let stream = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

        func improvements() -> AsyncStream<Void> { stream.stream }
        func improve() { stream.continuation.yield() }
    }
}

@Suite("RoomListCache: the journal")
struct RoomListJournalTests {
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url }

    private func size(_ name: String) -> Int {
        (try? Data(contentsOf: folder.appending(path: name)).count) ?? 0
    }

    @Test("33 changes of one of 501 rooms write less than a twentieth of 33 full files")
    func journal() async {
        let cache = RoomListCache(files: RoomFiles(folder: folder))
        var rooms = (0..<501).map { Given.room("room-\($0)") }
        await cache.keep(rooms)
        let whole = size("rooms.json")
        for number in 1...33 {
            rooms[100].elementCount = number
            await cache.keep(rooms)
        }
        #expect(size("rooms.journal") * 20 < 33 * whole)
        #expect(
            await RoomListCache(files: RoomFiles(folder: folder)).rooms().first { $0.id == "room-100" }?.elementCount
                == 33)
        rooms.remove(at: 100)
        await cache.keep(rooms)
        #expect(await RoomListCache(files: RoomFiles(folder: folder)).rooms().count == 500)
        // The journal is empty, so a removed room is in no file.
        #expect(size("rooms.journal") == 0)
    }

    @Test("a journal that was cut off, or belongs to an older file, yields its complete lines")
    func torn() async throws {
        let cache = RoomListCache(files: RoomFiles(folder: folder))
        var rooms = (0..<40).map { Given.room("room-\($0)") }
        await cache.keep(rooms)
        rooms[3].elementCount = 7
        await cache.keep(rooms)
        let journal = folder.appending(path: "rooms.journal")
        let data = try Data(contentsOf: journal)
        for count in stride(from: 0, to: data.count, by: 7) {
            try data.prefix(count).write(to: journal)
            let kept = await RoomListCache(files: RoomFiles(folder: folder)).rooms()
            #expect(kept.count == 40 && kept.first { $0.id == "room-3" }?.elementCount == 0)
        }
        try data.dropLast(5).write(to: journal)
        let next = RoomListCache(files: RoomFiles(folder: folder))
        #expect(await next.rooms().count == 40)
        await next.keep(rooms)
        // A line that was appended to the one that was cut off could not be read.
        #expect(
            await RoomListCache(files: RoomFiles(folder: folder)).rooms().first { $0.id == "room-3" }?.elementCount == 7
        )
        await RoomListCache(files: RoomFiles(folder: folder)).keep(Array(rooms.prefix(2)))
        try data.write(to: journal)
        #expect(await RoomListCache(files: RoomFiles(folder: folder)).rooms().count == 2)
    }
}
