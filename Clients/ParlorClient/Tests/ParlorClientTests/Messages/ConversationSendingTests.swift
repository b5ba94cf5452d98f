import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

extension ConversationTests {
    @Test("a typed message is shown at once, sent, and stored in the same row")
    func sending() async throws {
        await enter(page([1]))
        let id = try #require(conversation.send("  hello\n"))
        #expect(conversation.items.map(\.text) == ["text 1", "hello"])
        let call = await server.next()
        #expect(call.request == .send("hello", tempID: id))
        await until { conversation.items.last?.state == .sending }
        let stored = sample(2, from: "me", text: "hello", tempID: id)
        conversation.apply(.messageNew(stored))
        let version = conversation.version
        await server.answer(call, .message(stored))
        await TestClock.settle()
        #expect(conversation.items.shown == ["m1", "m2"])
        #expect(conversation.items.last?.id == id)
        #expect(conversation.version == version)
        #expect(conversation.send(" \n") == nil)
    }

    @Test("messages typed quickly are sent in that order")
    func order() async {
        await enter(page([1]))
        for number in 0..<20 { conversation.send("\(number)") }
        for number in 0..<20 {
            await server.expect(
                .send("\(number)", tempID: "t\(number + 1)"),
                .message(sample(2 + number, from: "me", tempID: "t\(number + 1)")))
        }
        await until { conversation.items.allSatisfy { $0.state == .stored } }
        #expect(conversation.items.shown == (1...21).map { "m\($0)" })
    }

    @Test("a refused message has the reason, and can be sent again or discarded")
    func refused() async {
        await enter(page([1]))
        conversation.send("a")
        conversation.send("b")
        for id in ["t1", "t2"] {
            await server.expect(.send(id == "t1" ? "a" : "b", tempID: id), .failure(refusal("invalid_field")))
        }
        let failed = MessageItem.State.failed(SendFailure(code: "invalid_field", message: "no"))
        await until { conversation.items.map(\.state) == [.stored, failed, failed] }
        await conversation.discard("t2")
        await conversation.retry("t1")
        await server.expect(.send("a", tempID: "t1"), .message(sample(2, from: "me", tempID: "t1")))
        await until { conversation.items.shown == ["m1", "m2"] }
    }

    @Test("a text over the limit is not taken, and one at the limit is, counted as the server counts")
    func tooLong() async throws {
        await enter(page([1]))
        // A flag has two Unicode scalars.
        let longest = String(repeating: "x", count: MessageText.limit - 2) + "\u{1F1EB}\u{1F1F7}"
        #expect(MessageText.count(of: " \(longest)\n") == MessageText.limit)
        #expect(conversation.send(longest + "x") == nil)
        #expect(conversation.items.shown == ["m1"])
        #expect(conversation.send(" \(longest)\n") == "t1")
        await server.expect(.send(longest, tempID: "t1"), .message(sample(2, from: "me", tempID: "t1")))
    }

    @Test("a refused message is taken back to be edited, once")
    func takenBack() async {
        await enter(page([1]))
        conversation.send("a")
        await server.expect(.send("a", tempID: "t1"), .failure(refusal("invalid_field")))
        await until { conversation.items.last?.pending?.state.isFailed == true }
        #expect(await conversation.takeBack("t1") == "a")
        #expect(conversation.items.shown == ["m1"])
        #expect(await conversation.takeBack("t1") == nil)
    }

    @Test("a message that the disk refuses has failed, also on the next visit, and can be sent again")
    func fullDisk() async throws {
        await enter(page([1]))
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let blocked = folder.appending(path: "outbox")
        try Data().write(to: blocked)
        conversation.send("a")
        await until { conversation.items.last?.pending?.state.isFailed == true }
        await conversation.leave()
        await enter(page([1]))
        #expect(conversation.items.map(\.pending?.state.isFailed) == [nil, true])
        try FileManager.default.removeItem(at: blocked)
        await conversation.retry("t1")
        await server.expect(.send("a", tempID: "t1"), .message(sample(2, from: "me", tempID: "t1")))
        await until { conversation.items.shown == ["m1", "m2"] }
    }

    @Test("unsent messages reappear after a restart, after those of the server")
    func unsent() async throws {
        try await outbox.append(PendingMessage(tempID: "old", text: "old", createdAt: start), in: "room")
        await server.expect(.send("old", tempID: "old"), .failure(offline))
        await enter(page([1]))
        #expect(conversation.items.shown == ["m1", "old"])
        await outbox.noteConnection()
        await server.expect(.send("old", tempID: "old"), .message(sample(2, from: "me", tempID: "old")))
        await until { conversation.items.shown == ["m1", "m2"] }
    }

    @Test("an echo that arrives after its message's deletion still ends the sending")
    func echoOfDeleted() async {
        await enter(page([1]))
        conversation.send("a")
        let call = await server.next()
        conversation.apply(.messageDeleted(roomID: "room", messageID: "m2", deletedBy: "me"))
        conversation.apply(.messageNew(sample(2, from: "me", tempID: "t1")))
        await TestClock.settle()
        #expect(conversation.items.shown == ["m1"])
        #expect(await outbox.messages(in: "room").isEmpty)
        await server.answer(call, .failure(offline))
    }

    @Test("an answer older than a later fetch causes another one, because its message may be deleted")
    func staleAnswer() async {
        await enter(page([1]))
        conversation.send("a")
        let call = await server.next()
        await until { conversation.items.last?.state == .sending }
        conversation.apply(.recovered(false))
        await server.expect(newest, .page(page([1])))
        await until { conversation.isVerified }
        await server.answer(call, .message(sample(2, from: "me", tempID: "t1")))
        await server.expect(newest, .page(page([1])))
        await until { conversation.isVerified && conversation.items.shown == ["m1"] }
    }

    @Test("messages sent during a full fetch do not restart it each time")
    func sendingWhileFetching() async {
        await enter(page([1]))
        for number in 0..<20 { conversation.send("\(number)") }
        await until { conversation.items.contains { $0.state == .sending } }
        conversation.apply(.recovered(false))
        var stored = [sample(1)]
        var pages = 0
        for number in 0..<20 {
            var call = await server.next()
            while case .page = call.request {
                pages += 1
                await server.answer(call, .page(Page(items: stored)))
                call = await server.next()
            }
            await TestClock.settle()
            stored.append(sample(number + 2, from: "me", tempID: "t\(number + 1)"))
            await server.answer(call, .message(stored[number + 1]))
        }
        #expect(pages <= 2, "one, and one more for the message that was in flight")
    }

    @Test("an own message disappears when the server confirms its deletion, or has deleted it before")
    func deleting() async throws {
        await enter(Page(items: [sample(1), sample(2, from: "me", tempID: "t"), sample(3, from: "me")]))
        async let deleted: Void = conversation.delete("t")
        let call = await server.next()
        #expect(call.request == .delete("m2"))
        #expect(conversation.items.shown == ["m1", "m2", "m3"])
        await server.answer(call, .done)
        try await deleted
        #expect(conversation.items.shown == ["m1", "m3"])
        async let again: Void = conversation.delete("m3")
        await server.expect(.delete("m3"), .failure(refusal("message_not_found")))
        try await again
        #expect(conversation.items.shown == ["m1"])
        let foreign = Task { try await conversation.delete("m1") }
        await server.expect(.delete("m1"), .failure(refusal("forbidden")))
        await #expect(throws: refusal("forbidden")) { try await foreign.value }
        #expect(conversation.items.shown == ["m1"])
    }
}
