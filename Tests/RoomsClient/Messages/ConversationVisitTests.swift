import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

/// Entering and leaving.
extension ConversationTests {
    @Test("left, the room hears nothing more, and its messages are in the cache")
    func leaving() async {
        await enter(page(1...3))
        await conversation.leave()
        #expect(await server.log(atLeast: 2) == ["join", "leave"])
        conversation.apply(.messageNew(sample(4)))
        #expect(conversation.items.shown == ["m1", "m2", "m3"])
        #expect(!conversation.isVerified)
        #expect(await cache.openRoom("room").map(\.seq) == [1, 2, 3])
        await enter(page(2...4, next: "2"))
        #expect(conversation.items.shown == ["m2", "m3", "m4"])
    }

    @Test("left before it was shown, it stays left")
    func leftAtOnce() async {
        let shown = conversation.beginVisit()
        await conversation.leave()
        await shown?.value
        #expect(await server.log(atLeast: 1) == ["leave"])
        #expect(!conversation.isEntered)
        await server.expectNoCall()
    }

    @Test("entered again while it is being left, it stays entered, and hears of its own messages")
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

    @Test("leaving does not wait for the network, and what is shown is in the cache by then")
    func leavingWithoutAnswers() async {
        await enter(page(1...2))
        conversation.noteVisible(conversation.items)
        await clock.untilSleeping(2)  // the receipts' wait, and the cache's
        await conversation.leave()
        #expect(await cache.openRoom("room").map(\.seq) == [1, 2])
        // Told when the server answers; until then nobody waits.
        await server.expect(.read(["m1", "m2"]), .done)
    }

    @Test("a connection that is lost while the room is left is still lost when it is entered again")
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
