import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

/// Tests of entering and leaving.
extension ConversationTests {
    @Test("after leaving, events are ignored, and the messages are in the cache")
    func leaving() async {
        await enter(page(1...3))
        await conversation.leave()
        #expect(await server.log(atLeast: 2) == ["join", "leave"])
        conversation.apply(.messageNew(sample(4)))
        #expect(conversation.items.shown == ["m1", "m2", "m3"])
        #expect(!conversation.isVerified)
        #expect(await cache.openRoom("room").map(\.seq) == [1, 2, 3])
        await enter(page(5...6, next: "5"))
        #expect(conversation.items.shown == ["m5", "m6"], "the others are too far below")
    }

    @Test("cached messages that reach the newest page are fetched again, and stay shown")
    func cachedBelowPage() async throws {
        _ = await cache.openRoom("room")
        await cache.keep((1...4).map { sample($0) }, of: "room")
        async let entered: Void = conversation.enter()
        await server.expect(newest, .page(page(5...6, next: "5")))
        await until { conversation.isFetched || conversation.items.count == 6 }
        try #require(conversation.items.count == 6, "the newest do not wait for those before")
        #expect(!conversation.isVerified)
        await server.expect(.page(before: 5, limit: 4), .page(page([1, 2, 4])))
        await entered
        #expect(conversation.items.shown == ["m1", "m2", "m4", "m5", "m6"])
        #expect(conversation.isVerified && !conversation.hasOlder)
    }

    /// Keeps the cache busy with another room until the flag is set.
    private func occupyCache(until isFree: Guarded<Bool>) async {
        _ = await cache.openRoom("another")
        let (isBusy, busy) = AsyncStream.makeStream(of: Void.self)
        Task { [cache] in
            await FileSteps.$before.withValue({
                busy.finish()
                while !isFree.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
            }) {
                await cache.keep([sample(1, room: "another")], of: "another")
            }
        }
        for await _ in isBusy {}
    }

    @Test("a cache that is read after the page has come adds nothing to it, and gets it")
    func lateCache() async throws {
        _ = await cache.openRoom("room")
        await cache.keep((1...4).map { sample($0) }, of: "room")
        let isFree = Guarded(false)
        await occupyCache(until: isFree)
        conversation.beginVisit()
        // The connection comes before the cache is read.
        conversation.apply(.connected)
        await server.expect(newest, .page(page(101...103, next: "101")))
        await until { conversation.isVerified }
        isFree.withLock { $0 = true }
        let again = await server.next()
        #expect(again.request == newest)
        try #require(conversation.items.shown == ["m101", "m102", "m103"])
        await server.answer(again, .page(page(101...104, next: "101")))
        await until { conversation.isVerified && conversation.items.count == 4 }
        await conversation.keepAll()
        #expect(await cache.openRoom("room").map(\.seq) == [101, 102, 103, 104])
    }

    @Test("a room left before it was shown stays left")
    func leftAtOnce() async {
        let shown = conversation.beginVisit()
        await conversation.leave()
        await shown?.value
        #expect(await server.log(atLeast: 1) == ["leave"])
        #expect(!conversation.isEntered)
        await server.expectNoCall()
    }

    @Test("a room left before its cached messages were shown does not overwrite them")
    func leftBeforeShown() async {
        _ = await cache.openRoom("room")
        await cache.keep((1...3).map { sample($0) }, of: "room")
        let shown = conversation.beginVisit()
        conversation.send("a")
        await conversation.leave()
        await shown?.value
        #expect(await cache.openRoom("room").map(\.seq) == [1, 2, 3])
        await server.expect(.send("a", tempID: "t1"), .message(sample(4, from: "me", tempID: "t1")))
    }

    @Test(
        "if the server refuses a join for now, the messages are unverified, and the join is retried as it asks"
    )
    func joinRefused() async {
        await server.failJoining(refusal("service_unavailable", isRetryable: true, retryAfter: .seconds(7)))
        await enter(page(1...2))
        #expect(conversation.items.shown == ["m1", "m2"])
        #expect(!conversation.isVerified && !conversation.isLoading)
        await server.failJoining(nil)
        await clock.advance(by: .milliseconds(6_999))
        await server.expectNoCall()
        await clock.advance(by: .milliseconds(1))
        await server.expect(newest, .page(page(1...3)))
        await until { conversation.isVerified }
        #expect(conversation.failure == nil)
    }

    @Test("a failed fetch is retried with growing pauses")
    func laterAndLater() async {
        await server.failJoining(nil)
        async let entered: Void = conversation.enter()
        await server.expect(newest, .failure(offline))
        await entered
        for pause in [5, 10, 20, 30, 30] {
            await clock.wake(.seconds(pause))
            await server.expect(newest, .failure(offline))
        }
        await conversation.leave()
    }

    @Test("a room entered again during its leave stays entered, and gets changes of its own messages")
    func enteredWhileLeaving() async {
        await enter(page([1]))
        async let left = conversation.leave()
        await Task.yield()
        await lookUntil { !conversation.isEntered }
        async let entered: Void = conversation.enter()
        _ = await left
        await server.expect(newest, .page(page(1...2)))
        await entered
        #expect(await server.log.last == "join")
        conversation.send("a")
        await server.expect(.send("a", tempID: "t1"), .message(sample(3, from: "me", tempID: "t1")))
        await until { conversation.items.shown == ["m1", "m2", "m3"] }
    }

    @Test("leaving does not wait for the network, and returns with the messages in the cache")
    func leavingWithoutAnswers() async {
        await enter(page(1...2))
        conversation.noteVisible(conversation.items)
        await clock.untilSleeping(2)  // the waits for reading and for the cache
        await clock.advance(by: .milliseconds(500))
        await clock.untilSleeping(1)  // the wait of the receipts
        await conversation.leave()
        #expect(await cache.openRoom("room").map(\.seq) == [1, 2])
        // The receipts are sent although nobody waits for them.
        await server.expect(.read(["m1", "m2"]), .done)
    }

    @Test("a connection lost while the room is left is still lost when it is entered again")
    func lostWhileLeft() async {
        await enter(page([1]))
        await conversation.leave()
        conversation.apply(.disconnected(offline))
        await enter(page([1]))
        #expect(!conversation.isVerified)
        conversation.apply(.recovered(true))
        #expect(conversation.isVerified)
    }
}
