import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of entering a room whose cached messages are current: no page is fetched, and nothing is missed.
@MainActor
@Suite("RoomsClient: entering cached rooms", .timeLimit(.minutes(10)))
struct RoomsClientFreshTests {
    private let home: AdasDevice

    init() throws { home = try AdasDevice() }

    private var pages: Int { home.device.requests.count { $0 == "GET /api/rooms/\(home.roomID)/messages" } }
    private var leaves: Int { home.device.requests.count { $0 == "room:leave" } }

    /// Opens the room, and closes it again.
    ///
    /// - Returns: the messages that the server has verified.
    @discardableResult
    private func visit(_ client: RoomsClient) async throws -> [Message] {
        let before = leaves
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        let shown = conversation.items.compactMap(\.message)
        await client.local.conversations.close(conversation)
        await lookUntil { leaves == before + 1 }
        return shown
    }

    private func kept(_ client: RoomsClient) async throws -> [Message] {
        try await client.api.messages(in: home.roomID, limit: 200).items
    }

    /// Starts the next run of the app, after a visit of the room in this one.
    private func restarted(before: () async throws -> Void = {}) async throws -> RoomsClient {
        let first = try await home.connected()
        try await visit(first)
        await first.endProcess()
        try await before()
        return try await home.connected()
    }

    @Test("a deletion that comes while the cache is being read is in the cache afterwards")
    func deletedDuringRead() async throws {
        let deleted = try home.server.post("deleted", in: home.roomID, by: home.ben.id)
        try home.server.post("kept", in: home.roomID, by: home.ben.id)
        let client = try await home.connected()
        try await visit(client)
        try home.server.deleteMessage(deleted, in: home.roomID, by: home.ben.id)
        let conversation = client.openConversation(try #require(client.rooms[home.roomID]))
        // It comes before the cache is read, as it does if the server has not handled the leave yet.
        conversation.apply(.messageDeleted(roomID: home.roomID, messageID: deleted, deletedBy: home.ben.id))
        await lookUntil { conversation.isVerified }
        #expect(conversation.items.map(\.text) == ["kept"])
        await client.local.conversations.close(conversation)
        await lookUntil { leaves == 2 }
        #expect(try await visit(client).map(\.text) == ["kept"])
        await client.stop()
    }

    @Test("after a restart, a room in which nothing has happened is entered without a page")
    func untouched() async throws {
        for number in 1...60 { try home.server.post("\(number)", in: home.roomID, by: home.ada.id) }
        let next = try await restarted()
        let before = pages
        let conversation = next.openConversation(try #require(next.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        #expect(pages == before)
        #expect(conversation.items.count == 50)
        #expect(conversation.hasOlder)
        await conversation.loadOlder()
        #expect(conversation.items.compactMap(\.message) == (try await kept(next)))
        await next.stop()
    }

    @Test("what has happened meanwhile comes with the next connect: messages, deletions and receipts")
    func changed() async throws {
        let mine = try home.server.post("mine", in: home.roomID, by: home.ada.id)
        let theirs = try home.server.post("theirs", in: home.roomID, by: home.ben.id)
        let next = try await restarted {
            try home.server.post("new", in: home.roomID, by: home.ben.id)
            try home.server.deleteMessage(theirs, in: home.roomID, by: home.ben.id)
            try home.server.markRead([mine], in: home.roomID, by: home.ben.id)
        }
        let before = pages
        let shown = try await visit(next)
        #expect(pages == before)
        #expect(shown.map(\.text) == ["mine", "new"])
        #expect(shown.first?.isRead == true)
        #expect(shown == (try await kept(next)))
        await next.stop()
        // The cache has the changes, too.
        let cached = await MessageCache(
            files: RoomFiles(folder: home.temporary.url.appending(path: "cache")), clock: home.clock
        )
        .openRoom(home.roomID)
        #expect(cached == shown)
    }

    @Test("several connects later, and after a visit in which messages came, no page is fetched either")
    func later() async throws {
        let first = try await home.connected()
        let conversation = first.openConversation(try #require(first.rooms[home.roomID]))
        await lookUntil { conversation.isVerified }
        try home.server.post("live", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 1 }
        await first.local.conversations.close(conversation)
        await first.endProcess()
        for number in 1...3 {
            let client = try await home.connected()
            try home.server.post("\(number)", in: home.roomID, by: home.ben.id)
            home.server.closeSockets()
            await lookUntil { client.connection != .connected }
            await client.enterForeground()
            await lookUntil { client.connection == .connected && !client.isBehind }
            // What was replayed is on disk. A run that ends earlier makes the next one fetch a page.
            let cursor = await client.local.backing.server.connectionCursor()
            await lookUntil { await client.local.backing.cache.position()?.cursor == cursor }
            await client.endProcess()
        }
        let last = try await home.connected()
        let before = pages
        #expect(try await visit(last).map(\.text) == ["live", "1", "2", "3"])
        #expect(pages == before)
        await last.stop()
    }

    @Test("if the server cannot replay what has happened, a page is fetched")
    func forgotten() async throws {
        try home.server.post("old", in: home.roomID, by: home.ben.id)
        let next = try await restarted {
            try home.server.post("new", in: home.roomID, by: home.ben.id)
            home.server.forgetHistory()
        }
        let before = pages
        #expect(try await visit(next).map(\.text) == ["old", "new"])
        #expect(pages == before + 1)
        await next.stop()
    }

    @Test("a room that is opened again while it is being closed keeps a message that is not in the cache yet")
    func reopened() async throws {
        let client = try await home.connected()
        let room = try #require(client.rooms[home.roomID])
        let conversation = client.openConversation(room)
        await lookUntil { conversation.isVerified }
        try home.server.post("new", in: home.roomID, by: home.ben.id)
        await lookUntil { conversation.items.count == 1 }
        let closing = Task { await client.local.conversations.close(conversation) }
        await lookUntil { !conversation.isEntered }
        let again = client.openConversation(room)
        await closing.value
        await lookUntil { again.isVerified }
        #expect(again.items.map(\.text) == ["new"])
        await client.stop()
    }

    @Test("a replay that ends after the client has given it up makes no cached messages current")
    func lateReplay() throws {
        let fresh = FreshRooms()
        _ = fresh.advance(to: "first", isWhole: true)
        let step = try #require(fresh.step)
        fresh.noteConnected()
        fresh.note(
            .messageDeleted(roomID: "room", messageID: "1", deletedBy: "ben"), in: "room", isReplayed: true,
            isOpen: false)
        #expect(fresh.advance(to: nil, isWhole: false) == nil)
        _ = fresh.advance(to: "second", isWhole: true)
        #expect(!fresh.isCurrent(step, in: "room"))
        fresh.noteConnected()
        let later = try #require(fresh.step)
        _ = fresh.advance(to: "third", isWhole: true)
        #expect(fresh.isCurrent(later, in: "room"))
    }

    @Test("if more has happened than is kept for a room, a page is fetched")
    func many() async throws {
        let next = try await restarted {
            for number in 0...FreshRooms.maxEvents.room {
                try home.server.post("\(number)", in: home.roomID, by: home.ada.id)
            }
        }
        let before = pages
        #expect(try await visit(next).last?.text == "\(FreshRooms.maxEvents.room)")
        // There is a second page if what was kept reaches the first.
        #expect((before + 1...before + 2).contains(pages))
        await next.stop()
    }

    @Test("if the app ends between the writes of the position and of the messages, a page is fetched")
    func killedBetween() async throws {
        let file = home.temporary.url.appending(path: "cache").appending(path: home.roomID.fileName() + ".json")
        var earlier = Data()
        let second = try await restarted {
            earlier = try Data(contentsOf: file)
            try home.server.post("new", in: home.roomID, by: home.ben.id)
        }
        await lookUntil { (try? Data(contentsOf: file)) != earlier }
        await second.endProcess()
        try earlier.write(to: file)
        let third = try await home.connected()
        let before = pages
        #expect(try await visit(third).map(\.text) == ["new"])
        #expect(pages == before + 1)
        await third.stop()
    }

    @Test("if the position of the last connect is lost, messages that were written after it are fetched again")
    func positionLost() async throws {
        let position = home.temporary.url.appending(path: "cache/sync/position.json")
        var earlier = Data()
        let second = try await restarted {
            earlier = try Data(contentsOf: position)
            try home.server.post("new", in: home.roomID, by: home.ben.id)
        }
        try await visit(second)
        await second.endProcess()
        try earlier.write(to: position)
        try home.server.post("newer", in: home.roomID, by: home.ben.id)
        let third = try await home.connected()
        let before = pages
        #expect(try await visit(third).map(\.text) == ["new", "newer"])
        #expect(pages == before + 1)
        await third.stop()
    }

    @Test("random histories with restarts: whatever a room shows as verified is what the server has")
    func random() async throws {
        for seed in Seeds.first(10) { try await FreshRun(seed: UInt64(seed)).go() }
    }
}

/// The run of one seed: three rooms, visits of all kinds, and restarts.
@MainActor
private final class FreshRun {
    private let home: AdasDevice
    private let seed: UInt64
    private var random: SeededGenerator
    private var client: RoomsClient
    private var rooms: [String]
    private var messages: [(room: String, id: String, by: String)] = []
    private var open: Conversation?

    init(seed: UInt64) throws {
        home = try AdasDevice()
        self.seed = seed
        random = SeededGenerator(seed: seed)
        client = home.makeClient()
        rooms = [home.roomID]
        for _ in 0..<2 { rooms.append(try home.server.makeRoom(by: home.ben.id, with: home.ada.id)) }
    }

    func go() async throws {
        await start()
        for step in 0..<40 {
            switch Int.random(in: 0..<20, using: &random) {
            case ..<7: try post("\(step)")
            case ..<9:
                if let index = messages.indices.randomElement(using: &random) {
                    let message = messages.remove(at: index)
                    try home.server.deleteMessage(message.id, in: message.room, by: message.by)
                }
            case ..<11:
                if let message = messages.randomElement(using: &random) {
                    let reader = message.by == home.ada.id ? home.ben.id : home.ada.id
                    try home.server.markRead([message.id], in: message.room, by: reader)
                }
            case ..<14: try await visit(rooms[Int.random(in: rooms.indices, using: &random)])
            case ..<16: await leave()
            case 16: home.server.closeSockets()
            case 17: home.device.setAirplaneMode(Bool.random(using: &random))
            case 18 where Int.random(in: 0..<4, using: &random) == 0: home.server.forgetHistory()
            default:
                // The app is killed: nothing more is written that waits for a pause.
                if Bool.random(using: &random) { await leave() }
                await client.endProcess()
                open = nil
                client = home.makeClient()
                await start()
            }
            if Bool.random(using: &random) {
                await home.clock.advance(by: .milliseconds(Int.random(in: 1...1500, using: &random)))
            }
        }
        home.device.setAirplaneMode(false)
        await client.enterForeground()
        await lookUntil { client.connection == .connected && client.rooms.isLoaded && !client.isBehind }
        for room in rooms { try await visit(room) }
        await leave()
        await client.stop()
    }

    private func start() async {
        await client.start()
        // Without a network it starts with the cached list.
        for _ in 0..<20 where client.isBehind || !client.rooms.isLoaded { await TestClock.settle() }
    }

    private func post(_ text: String) throws {
        let room = rooms[Int.random(in: rooms.indices, using: &random)]
        let by = Bool.random(using: &random) ? home.ada.id : home.ben.id
        messages.append((room, try home.server.post(text, in: room, by: by), by))
    }

    private func leave() async {
        if let open { await client.local.conversations.close(open) }
        open = nil
    }

    /// Opens a room, and compares it with the server once it is verified, which it never is without a network.
    private func visit(_ room: String) async throws {
        await leave()
        guard let known = client.rooms[room] else { return }
        let conversation = client.openConversation(known)
        open = conversation
        for _ in 0..<100 where !conversation.isVerified { await TestClock.settle() }
        guard conversation.isVerified else { return }
        while conversation.hasOlder { await conversation.loadOlder() }
        let truth = try await client.api.messages(in: room, limit: 200).items
        // Events that are in flight arrive first: nothing else happens meanwhile.
        await lookUntil { !conversation.isVerified || conversation.items.compactMap(\.message) == truth }
        guard conversation.isVerified else { return }
        let shown = conversation.items.compactMap(\.message)
        // The texts come first, because a whole message is hard to read.
        #expect(shown.map(\.text) == truth.map(\.text), "seed \(seed)")
        for (shown, kept) in zip(shown, truth) { #expect(shown == kept, "seed \(seed)") }
    }
}
