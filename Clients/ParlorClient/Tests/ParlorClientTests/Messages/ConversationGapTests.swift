import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

extension ConversationTests {
    @Test("a message that comes during a visit does not become the first unread one")
    func firstUnreadStays() async {
        let read = sample(1, readBy: [receipt("me")])
        await enter(Page(items: [read]))
        conversation.apply(.messageNew(sample(2)))
        conversation.apply(.recovered(false))
        await server.expect(newest, .page(Page(items: [read, sample(2)])))
        await until { conversation.isVerified }
        #expect(conversation.firstUnread == nil)
    }

    @Test("a late message is awaited")
    func late() async {
        await enter(page(1...2))
        conversation.apply(.messageNew(sample(4)))
        conversation.apply(.messageNew(sample(3)))
        await clock.advance(by: .seconds(10))
        await server.expectNoCall()
        #expect(conversation.items.shown == ["m1", "m2", "m3", "m4"])
    }

    @Test("a lost message is fetched, and the fetch is retried until the server answers")
    func lost() async {
        await enter(page(1...2))
        conversation.apply(.messageNew(sample(5)))
        await clock.untilSleeping(2)  // the waits for the gap and for the cache
        await clock.advance(by: .milliseconds(500))
        await server.expect(.page(after: 2, limit: 200), .failure(offline))
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        await server.expect(.page(after: 2, limit: 200), .page(page(3...3, next: "3")))
        await server.expect(.page(after: 3, limit: 200), .page(page([5])))
        await until { conversation.items.count == 4 }
        #expect(conversation.items.shown == ["m1", "m2", "m3", "m5"])
    }

    @Test("a failure to fetch a lost message is reported, and a permanent refusal is not retried")
    func lostForGood() async {
        await enter(page(1...2))
        conversation.apply(.messageNew(sample(5)))
        await clock.untilSleeping(2)  // the waits for the gap and for the cache
        await clock.advance(by: .milliseconds(500))
        await server.expect(.page(after: 2, limit: 200), .failure(offline))
        await until { conversation.failure == offline }
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(5))
        await server.expect(.page(after: 2, limit: 200), .failure(refusal("forbidden")))
        await until { conversation.failure == refusal("forbidden") }
        #expect(conversation.items.count == 3)
        await clock.advance(by: .seconds(60))
        await server.expectNoCall()
    }

    @Test("500 missed messages come up in a few versions, and all of them before the room counts as verified")
    func catchesUpInFewVersions() async {
        await enter(page([1, 2]))
        conversation.apply(.disconnected(offline))
        conversation.apply(.connected)
        let version = conversation.version
        for seq in 3...251 { conversation.apply(.messageNew(sample(seq))) }
        #expect(conversation.version == version)
        await clock.wake(conversation.settings.catchUpPause)
        await until { conversation.items.count == 251 }
        #expect(conversation.version == version + 1)
        for seq in 252...502 { conversation.apply(.messageNew(sample(seq))) }
        conversation.apply(.messageDeleted(roomID: "room", messageID: "m300", deletedBy: "ann"))
        conversation.apply(.recovered(true))
        #expect(conversation.items.count == 501 && conversation.isVerified)
        #expect(conversation.version == version + 2)
        conversation.apply(.messageNew(sample(503)))
        #expect(conversation.items.count == 502 && conversation.version == version + 3)
    }

    @Test("what a replay has brought so far is on disk when the app is in the background")
    func backgroundDuringReplay() async {
        await enter(page([1]))
        conversation.apply(.disconnected(offline))
        conversation.apply(.messageNew(sample(2)))
        await conversation.keepAll()
        #expect(await cache.openRoom("room").map(\.id) == ["m1", "m2"])
    }

    @Test("a message that is typed during a replay appears at once, after what has come so far")
    func typedDuringReplay() async {
        await enter(page([1]))
        conversation.apply(.disconnected(offline))
        conversation.apply(.messageNew(sample(2)))
        #expect(conversation.items.shown == ["m1"])
        conversation.send("mine")
        #expect(conversation.items.shown == ["m1", "m2", "mine"])
    }

    @Test("after a disconnect, nothing counts as verified until the missed events have arrived")
    func away() async {
        await enter(page(1...2))
        conversation.apply(.disconnected(offline))
        #expect(!conversation.isVerified)
        conversation.apply(.connected)
        #expect(!conversation.isVerified)
        conversation.apply(.messageNew(sample(3)))
        conversation.apply(.recovered(true))
        #expect(conversation.isVerified)
        await TestClock.settle()
        await server.expectNoCall()
    }

    @Test("without recovery, everything shown is fetched again: deleted messages go, new ones appear")
    func notRecovered() async {
        await enter(page(1...4))
        conversation.apply(.recovered(false))
        #expect(!conversation.isVerified)
        await server.expect(newest, .page(page(6...7, next: "6")))
        let call = await server.next()
        #expect(call.request == .page(before: 6, limit: 5))
        #expect(!conversation.isVerified)
        #expect(conversation.items.shown == ["m1", "m2", "m3", "m4", "m6", "m7"])
        conversation.apply(.messageNew(sample(8)))
        await server.answer(call, .page(page([1, 3, 5])))
        await until { conversation.isVerified }
        #expect(conversation.items.shown == ["m1", "m3", "m5", "m6", "m7", "m8"])
    }

    @Test("after a long absence, messages beyond the limit are dropped, and return as older pages")
    func longAbsence() async {
        await enter(page(1...4))
        conversation.apply(.recovered(false))
        await server.expect(newest, .page(page(107...109, next: "107")))
        await server.expect(.page(before: 107, limit: 106), .page(page(104...106, next: "104")))
        await until { conversation.isVerified }
        #expect(conversation.items.shown == (104...109).map { "m\($0)" })
        async let loaded: Void = conversation.loadOlder()
        await server.expect(.page(before: 104, limit: 50), .page(page(100...103, next: "100")))
        await loaded
        #expect(conversation.items.first?.seq == 100)
    }

    @Test("after a recovery nothing is fetched")
    func recovered() async {
        await enter(page(1...4))
        conversation.apply(.connected)
        conversation.apply(.recovered(true))
        await TestClock.settle()
        await server.expectNoCall()
    }

    @Test("another missed recovery restarts a fetch at once, and the earlier answer is ignored")
    func missedAgain() async {
        await enter(page(1...2))
        conversation.apply(.recovered(false))
        let first = await server.next()
        conversation.apply(.recovered(false))
        await server.expect(newest, .page(page(1...3)))
        await until { conversation.isVerified && conversation.items.count == 3 }
        await server.answer(first, .page(page(1...2)))
        await TestClock.settle()
        #expect(conversation.isVerified)
        #expect(conversation.items.shown == ["m1", "m2", "m3"])
    }

    @Test("after a reconnect, nothing waits for a request on the dead connection")
    func deadRequest() async {
        async let entered: Void = conversation.enter()
        let dead = await server.next()
        conversation.apply(.disconnected(offline))
        conversation.apply(.connected)
        await server.expect(newest, .page(page(1...2)))
        await until { conversation.isFetched }
        conversation.apply(.recovered(true))
        #expect(conversation.isVerified)
        await server.answer(dead, .failure(offline))
        await entered
        #expect(conversation.failure == nil)
        await server.expectNoCall()
    }

    @Test("a new gap is noticed while one from before an absence is still being fetched")
    func gapAfterAbsence() async {
        await enter(page(1...2))
        conversation.apply(.messageNew(sample(5)))
        await clock.untilSleeping(2)  // the waits for the gap and for the cache
        await clock.advance(by: .milliseconds(500))
        let dead = await server.next()
        conversation.apply(.recovered(false))
        await server.expect(newest, .page(page(1...5)))
        await until { conversation.isVerified }
        conversation.apply(.messageNew(sample(8)))
        await server.answer(dead, .failure(offline))
        await TestClock.settle()
        await clock.advance(by: .milliseconds(500))
        await server.expect(.page(after: 5, limit: 200), .page(page(6...8)))
        await until { conversation.items.count == 8 }
        await clock.advance(by: .seconds(10))
        await server.expectNoCall()
    }

    @Test("a page requested before an absence is ignored after it")
    func stalePage() async {
        await enter(page(5...6, next: "5"))
        async let loaded: Void = conversation.loadOlder()
        let older = await server.next()
        conversation.apply(.recovered(false))
        let anew = await server.next()
        await server.answer(older, .page(page(1...4)))
        await loaded
        #expect(conversation.items.shown == ["m5", "m6"])
        await server.answer(anew, .page(page(5...6, next: "5")))
        await until { conversation.isVerified }
        #expect(conversation.hasOlder)
    }
}
