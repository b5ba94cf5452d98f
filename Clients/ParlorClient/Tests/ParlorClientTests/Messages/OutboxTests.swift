import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("Outbox", .timeLimit(.minutes(1)))
struct OutboxTests {
    let temporary = TemporaryFolder()
    var folder: URL { temporary.url }
    let server = FakeMessageServer()
    let clock = TestClock(start: start)

    /// Makes an outbox whose pauses have their maximum length.
    func makeOutbox(removeItem: @escaping @Sendable (URL) throws -> Void = RoomFiles.removeItem) -> Outbox {
        var settings = Outbox.Settings()
        settings.firstPause = .seconds(1)
        settings.longestPause = .seconds(8)
        return Outbox(
            files: RoomFiles(folder: folder, removeItem: removeItem), server: server, clock: clock, settings: settings,
            random: { 1 })
    }

    func typed(_ id: String) -> PendingMessage { PendingMessage(tempID: id, text: "text of \(id)", createdAt: start) }

    func request(_ id: String, room: String = "room") -> FakeMessageServer.Request {
        .send("text of \(id)", tempID: id, room: room)
    }

    func stored(_ seq: Int, _ id: String) -> FakeMessageServer.Answer {
        .message(sample(seq, from: "me", tempID: id))
    }

    @Test("a room's messages are sent one after another, in the order typed")
    func order() async throws {
        let outbox = makeOutbox()
        for id in ["a", "b", "c"] { try await outbox.append(typed(id), in: "room") }
        for (seq, id) in ["a", "b", "c"].enumerated() {
            let call = await server.next()
            #expect(call.request == request(id))
            await TestClock.settle()
            await server.expectNoCall()
            await server.answer(call, stored(seq + 1, id))
        }
        await TestClock.settle()
        #expect(await outbox.messages(in: "room").isEmpty)
    }

    @Test("rooms do not wait for one another")
    func rooms() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "one")
        let first = await server.next()
        try await outbox.append(typed("b"), in: "two")
        let second = await server.next()
        #expect([first.request, second.request] == [request("a", room: "one"), request("b", room: "two")])
        for call in [first, second] { await server.answer(call, .failure(refusal("forbidden"))) }
    }

    @Test("an unanswered message is sent again with the same tempId, after pauses that double up to a limit")
    func backOff() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        for pause in [1, 2, 4, 8, 8] {
            await server.expect(request("a"), .failure(offline))
            await clock.untilSleeping(1)
            #expect(clock.sleepers == [.seconds(pause)])
            #expect(await outbox.messages(in: "room").map(\.state) == [.queued])
            await clock.advance(by: .seconds(pause))
        }
        await server.expect(request("a"), stored(1, "a"))
    }

    @Test(
        "a message is sent again after an unreadable answer, or a refusal of the token",
        arguments: [.unreadable("a page"), .signedOut, refusal("unauthenticated")] as [ClientFailure])
    func noAnswer(failure: ClientFailure) async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        await server.expect(request("a"), .failure(failure))
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(1))
        await server.expect(request("a"), stored(1, "a"))
    }

    @Test("a connection ends a pause, unless the server asked for it")
    func connection() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        await server.expect(request("a"), .failure(offline))
        await clock.untilSleeping(1)
        await outbox.noteConnection()
        await server.expect(
            request("a"), .failure(refusal("rate_limited", isRetryable: true, retryAfter: .seconds(20))))
        await clock.untilSleeping(1)
        await outbox.noteConnection()
        await TestClock.settle()
        #expect(clock.sleepers == [.seconds(20)])
        await server.expectNoCall()
        await clock.advance(by: .seconds(20))
        await server.expect(request("a"), stored(1, "a"))
    }

    @Test("no pause follows if a connection came while the message was being sent")
    func connectionInProgress() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        let call = await server.next()
        await outbox.noteConnection()
        await server.answer(call, .failure(offline))
        await server.expect(request("a"), stored(1, "a"))
    }

    @Test("a message that fails for good does not block later ones, and can be retried")
    func refused() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        try await outbox.append(typed("b"), in: "room")
        await server.expect(request("a"), .failure(refusal("invalid_field")))
        await server.expect(request("b"), stored(1, "b"))
        await TestClock.settle()
        let failed = PendingMessage.State.failed(SendFailure(code: "invalid_field", message: "no"))
        #expect(await outbox.messages(in: "room").map(\.state) == [failed])
        #expect(await outbox.retry("a", in: "room"))
        await server.expect(request("a"), stored(2, "a"))
    }

    @Test("a message that was stored and deleted is removed")
    func deletedMeanwhile() async throws {
        let outbox = makeOutbox()
        let changes = Changes()
        _ = await outbox.follow("room") { changes.append($0) }
        try await outbox.append(typed("a"), in: "room")
        await server.expect(request("a"), .failure(refusal("message_not_found")))
        await TestClock.settle()
        #expect(await outbox.messages(in: "room").isEmpty)
        #expect(changes.all.last == .removed(tempID: "a"))
    }

    @Test("a waiting or failed message can be discarded, one being sent cannot")
    func discard() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        try await outbox.append(typed("b"), in: "room")
        let call = await server.next()
        #expect(await !outbox.discard("a", in: "room"))
        #expect(await outbox.discard("b", in: "room"))
        await server.answer(call, stored(1, "a"))
        await TestClock.settle()
        await server.expectNoCall()
    }

    @Test("a message that an event shows to be stored is not sent again")
    func echo() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        await server.expect(request("a"), .failure(offline))
        await clock.untilSleeping(1)
        await outbox.noteStored("a", in: "room")
        await clock.advance(by: .seconds(10))
        await server.expectNoCall()
    }

    @Test("a message that is known to be stored cannot fail")
    func echoInFlight() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        try await outbox.append(typed("b"), in: "room")
        let call = await server.next()
        await outbox.noteStored("a", in: "room")
        await server.answer(call, .failure(refusal("forbidden")))
        await server.expect(request("b"), stored(2, "b"))
        await TestClock.settle()
        #expect(await outbox.messages(in: "room").isEmpty)
    }

    @Test("a follower gets all messages first, then each change in order")
    func follow() async throws {
        let outbox = makeOutbox()
        let changes = Changes()
        try await outbox.append(typed("a"), in: "room")
        let call = await server.next()
        let follower = await outbox.follow("room") { changes.append($0) }
        await server.answer(call, stored(1, "a"))
        await TestClock.settle()
        var sent = typed("a")
        sent.state = .sending
        #expect(
            changes.all == [.all([sent]), .stored(tempID: "a", sample(1, from: "me", tempID: "a"))])
        await outbox.unfollow(follower, in: "room")
        try await outbox.append(typed("b"), in: "room")
        #expect(changes.all.count == 2)
        await server.expect(request("b"), stored(2, "b"))
    }
}

@MainActor
final class Changes {
    private(set) var all: [OutboxChange] = []

    func append(_ change: OutboxChange) { all.append(change) }
}
