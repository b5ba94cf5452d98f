import ClientTestSupport
import Foundation
import Observation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("Conversation", .timeLimit(.minutes(1)))
struct ConversationTests {
    let temporary = TemporaryFolder()
    var folder: URL { temporary.url }
    let server = FakeMessageServer()
    let clock = TestClock(start: start)
    let cache: MessageCache
    let outbox: Outbox
    let conversation: Conversation

    init() {
        cache = MessageCache(files: RoomFiles(folder: temporary.url.appending(path: "cache")), clock: clock)
        outbox = Outbox(
            files: RoomFiles(folder: temporary.url.appending(path: "outbox")), server: server, clock: clock,
            random: { 1 })
        let ids = Guarded(0)
        var settings = Conversation.Settings()
        settings.refetchLimit = 6
        conversation = Conversation(
            roomID: "room", ownID: "me", readership: .of("me", "ann"),
            backing: MessageBacking(
                server: server, outbox: outbox, cache: cache,
                receipts: ReadReceipts(server: server, clock: clock, random: { 1 }), clock: clock,
                makeID: {
                    ids.withLock { id in
                        id += 1
                        return "t\(id)"
                    }
                },
                random: { 1 }),
            settings: settings)
    }

    let newest = FakeMessageServer.Request.page(limit: 50)

    func enter(_ page: Page<Message>) async {
        async let entered: Void = conversation.enter()
        await server.expect(newest, .page(page))
        await entered
    }

    @Test("cached messages are shown at once, unverified, and then the server's")
    func entering() async {
        _ = await cache.openRoom("room")
        await cache.keep((2...4).map { sample($0) }, of: "room")
        async let entered: Void = conversation.enter()
        let call = await server.next()
        #expect(conversation.items.shown == ["m2", "m3", "m4"])
        #expect(!conversation.isVerified)
        #expect(await server.log == ["join"], "before the page, so that nothing is missed between")
        await server.answer(call, .page(page([3, 5], next: "3")))
        await server.expect(.page(before: 3, limit: 1), .page(page([2], next: "2")))
        await entered
        #expect(conversation.items.shown == ["m2", "m3", "m5"])
        #expect(conversation.isVerified)
        #expect(conversation.hasOlder)
    }

    @Test(
        "marking all as read continues below own messages, until the unread count is reached or no page is left",
        arguments: [1, nil] as [Int?])
    func allRead(count: Int?) async throws {
        await enter(Page(items: [sample(9, from: "me")], next: "9"))
        conversation.reader.unreadCount = { count }
        async let read: Void = conversation.markAllRead()
        for (seq, sender, before) in [(6, "me", 9), (4, "ann", 6), (3, "me", 4)] {
            await server.expect(
                .page(before: before, limit: 200), .page(Page(items: [sample(seq, from: sender)], next: "\(seq)")))
        }
        // If the number of unread messages is unknown, another page is searched.
        if count == nil {
            await server.expect(.page(before: 3, limit: 200), .page(Page(items: [sample(1, from: "me")])))
        }
        await server.expect(.read(["m4"]), .done)
        try await read
        await server.expectNoCall()
    }

    @Test("marking all as read before the room has been loaded begins with the newest messages")
    func allReadOfCached() async throws {
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        async let entered: Void = conversation.enter()
        await server.expect(newest, .failure(offline))
        await entered
        async let read: Void = conversation.markAllRead()
        await server.expect(.page(limit: 200), .page(page([1, 3])))
        await server.expect(.read(["m1", "m3"]), .done)
        try await read
    }

    @Test("marking all as read without a connection includes messages that came meanwhile")
    func allReadWhileOffline() async throws {
        await enter(page(1...2))
        conversation.reader.unreadCount = { 2 }
        conversation.apply(.disconnected(offline))
        async let read: Void = conversation.markAllRead()
        await server.expect(.page(limit: 200), .page(page(1...4)))
        await server.expect(.read(["m1", "m2", "m3", "m4"]), .done)
        try await read
    }

    @Test("marking all as read while a message between others is missing includes that message")
    func allReadWithGap() async throws {
        await enter(page(1...2))
        conversation.reader.unreadCount = { 4 }
        conversation.apply(.messageNew(sample(4)))
        async let read: Void = conversation.markAllRead()
        await server.expect(.page(limit: 200), .page(page(1...4)))
        await server.expect(.read(["m1", "m2", "m4", "m3"]), .done)
        try await read
    }

    @Test("a failed load sets the failure and keeps the messages, and the next connection retries it")
    func enteringOffline() async {
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        async let entered: Void = conversation.enter()
        await server.expect(newest, .failure(offline))
        await entered
        #expect(conversation.failure == offline)
        #expect(conversation.items.shown == ["m1"])
        #expect(!conversation.isVerified)
        conversation.apply(.connected)
        await server.expect(newest, .page(page([1, 2])))
        await until { conversation.isVerified }
        #expect(conversation.failure == nil)
        #expect(conversation.items.shown == ["m1", "m2"])
    }

    @Test("a failed load is retried after a pause, also without a new connection")
    func enteringAgain() async {
        async let entered: Void = conversation.enter()
        await server.expect(newest, .failure(refusal("service_unavailable", isRetryable: true)))
        await entered
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        await server.expect(newest, .page(page([1])))
        await until { conversation.isVerified }
    }

    @Test("a room that is no longer the person's is emptied, and so is its cache")
    func goneRoom() async {
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        async let entered: Void = conversation.enter()
        await server.expect(newest, .failure(refusal("room_not_found")))
        await entered
        #expect(conversation.items.isEmpty)
        #expect(await cache.openRoom("room").isEmpty)
    }

    @Test("older pages are added in front, until there are none")
    func older() async {
        await enter(page(5...6, next: "5"))
        async let loaded: Void = conversation.loadOlder()
        await server.expect(.page(before: 5, limit: 50), .page(page(1...3)))
        await loaded
        #expect(conversation.items.shown == ["m1", "m2", "m3", "m5", "m6"])
        #expect(!conversation.hasOlder)
        await conversation.loadOlder()
        await server.expectNoCall()
    }

    @Test("events of this room are applied, those of other rooms are not")
    func events() async {
        await enter(page(1...2))
        conversation.apply(.messageNew(sample(3, from: "me")))
        conversation.apply(.messageNew(sample(4, room: "another")))
        conversation.apply(.messageDeleted(roomID: "another", messageID: "m2", deletedBy: "ann"))
        conversation.apply(.messageDeleted(roomID: "room", messageID: "m1", deletedBy: "ann"))
        conversation.apply(.messagesRead(roomID: "room", userID: "ann", messageIDs: ["m3"], readAt: start))
        #expect(conversation.items.shown == ["m2", "m3"])
        #expect(conversation.items.map(\.state) == [.stored, .read])
    }

    @Test("others' unread messages are read after half a second on the screen; own and read ones are not")
    func reading() async {
        await enter(Page(items: [sample(1), sample(2, from: "me"), sample(3, readBy: [receipt("me")]), sample(4)]))
        conversation.noteVisible(conversation.items)
        await clock.untilSleeping(2)  // the waits for reading and for the cache
        await clock.advance(by: .milliseconds(500))
        await clock.untilSleeping(1)  // the wait of the receipts
        async let background: Void = conversation.enterBackground()
        await server.expect(.read(["m1", "m4"]), .done)
        await background
    }

    @Test("people who type are shown until their message arrives or the connection is lost")
    func typists() async {
        await enter(page([1]))
        for user in ["ann", "bo", "me"] {
            conversation.apply(.typing(roomID: "room", userID: user, isTyping: true))
        }
        #expect(conversation.typistIDs == ["ann", "bo"])
        conversation.apply(.messageNew(sample(2, from: "ann")))
        #expect(conversation.typistIDs == ["bo"])
        conversation.apply(.disconnected(offline))
        #expect(conversation.typistIDs.isEmpty)
    }
}
