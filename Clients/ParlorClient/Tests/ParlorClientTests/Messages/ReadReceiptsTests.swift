import Foundation
import ParlorClientTesting
import Synchronization
import Testing

@testable import ParlorClient

@Suite("Read receipts", .timeLimit(.minutes(1)))
struct ReadReceiptsTests {
    let server = FakeMessageServer()
    let clock = TestClock(start: start)
    let receipts: ReadReceipts

    init() { receipts = ReadReceipts(server: server, clock: clock, random: { 1 }) }

    @Test("messages read within half a second of each other are sent in one request, each once")
    func gathered() async {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(400))
        await receipts.add(["b", "a"], in: "room")
        await clock.advance(by: .milliseconds(499))
        await server.expectNoCall()
        await clock.advance(by: .milliseconds(1))
        await server.expect(.read(["a", "b"]), .done)
        await receipts.add(["a", "b"], in: "room")
        await clock.advance(by: .seconds(5))
        await server.expectNoCall()
    }

    @Test("during continuous reading, receipts are sent after two seconds")
    func longestWait() async {
        for number in 0..<5 {
            await receipts.add(["\(number)"], in: "room")
            await clock.advance(by: .milliseconds(400))
        }
        await server.expect(.read(["0", "1", "2", "3", "4"]), .done)
    }

    @Test("more than 500 receipts are sent in several requests")
    func many() async {
        let ids = (0..<1_001).map { "\($0)" }
        await receipts.add(ids, in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(Array(ids[..<500])), .done)
        await server.expect(.read(Array(ids[500..<1_000])), .done)
        await server.expect(.read(["1000"]), .done)
    }

    @Test("flushing does not wait for the half second")
    func flush() async {
        await receipts.add(["a"], in: "room")
        async let flushed: Void = receipts.flush()
        await server.expect(.read(["a"]), .done)
        await flushed
    }

    @Test("flushing sends rooms without waiting for one another")
    func flushOfRooms() async {
        await receipts.add(["a"], in: "one")
        await receipts.add(["b"], in: "two")
        async let flushed: Void = receipts.flush()
        let calls = [await server.next(), await server.next()]
        for call in calls { await server.answer(call, .done) }
        await flushed
    }

    @Test("unsent receipts are kept, and sent with the next connection or after a pause")
    func kept() async {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["a"]), .failure(offline))
        await clock.untilSleeping(1)
        await clock.wake(.seconds(10))
        await server.expect(
            .read(["a"]), .failure(refusal("rate_limited", isRetryable: true, retryAfter: .seconds(90))))
        await clock.wake(.seconds(90))
        await server.expect(.read(["a"]), .failure(offline))
        await clock.untilSleeping(1)
        async let received: Void = receipts.noteConnection()
        await server.expect(.read(["a"]), .done)
        await received
        await clock.advance(by: .seconds(60))
        await server.expectNoCall()
    }

    @Test("receipts that could not be sent survive the end of the app, and are sent once with the next connection")
    func restart() async throws {
        let temporary = TemporaryFolder()
        let files = RoomFiles(folder: temporary.url)
        func launched() -> ReadReceipts {
            ReadReceipts(server: server, clock: clock, settings: .init(), files: files, random: { 1 })
        }
        let first = launched()
        await first.add(["a", "b"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["a", "b"]), .failure(offline))
        await clock.untilSleeping(1)
        #expect(await first.unsentCount() == 2)

        let second = launched()
        await second.add(["b", "c"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["b", "c"]), .failure(offline))
        await clock.untilSleeping(2)
        #expect(await launched().unsentCount() == 3)
        async let received: Void = second.noteConnection()
        await server.expect(.read(["b", "c", "a"]), .done)
        await received
        #expect(try files.keys().isEmpty)
        #expect(await launched().unsentCount() == 0)
    }

    @Test("messages read during the server's Retry-After are sent after it")
    func readDuringPause() async {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(
            .read(["a"]), .failure(refusal("rate_limited", isRetryable: true, retryAfter: .seconds(90))))
        await clock.untilSleeping(for: .seconds(90))
        await clock.advance(by: .seconds(30))
        await receipts.add(["b"], in: "room")
        await clock.advance(by: .seconds(59))
        await server.expectNoCall()
        await clock.advance(by: .seconds(1))
        await server.expect(.read(["a", "b"]), .done)
    }

    @Test("a message read during a refused request waits for the server's Retry-After, also with a new connection")
    func readDuringRefused() async {
        let call = await readDuringCall()
        await server.answer(call, .failure(refusal("rate_limited", isRetryable: true, retryAfter: .seconds(90))))
        await clock.untilSleeping(for: .seconds(90))
        await receipts.noteConnection()
        await clock.advance(by: .seconds(89))
        await server.expectNoCall()
        await clock.advance(by: .seconds(1))
        await server.expect(.read(["a", "b"]), .done)
    }

    /// A clock whose time can be set back while it sleeps.
    private final class ChangedClock: ClientClock {
        private let clock: TestClock
        let isSetBack = Mutex(false)

        init(_ clock: TestClock) { self.clock = clock }

        var now: Date { clock.now.addingTimeInterval(isSetBack.withLock { $0 ? -3_600 : 0 }) }

        func sleep(for duration: Duration) async throws { try await clock.sleep(for: duration) }
    }

    @Test("a clock that is set back makes the server's Retry-After neither longer nor shorter")
    func clockSetBack() async {
        let changed = ChangedClock(clock)
        let receipts = ReadReceipts(server: server, clock: changed, random: { 1 })
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(
            .read(["a"]), .failure(refusal("rate_limited", isRetryable: true, retryAfter: .seconds(90))))
        await clock.untilSleeping(for: .seconds(90))
        changed.isSetBack.withLock { $0 = true }
        await clock.advance(by: .seconds(60))
        await receipts.add(["b"], in: "room")
        await clock.advance(by: .seconds(29))
        await server.expectNoCall()
        await clock.advance(by: .seconds(1))
        await server.expect(.read(["a", "b"]), .done)
    }

    @Test("each receipt is sent once, however many are collected offline")
    func manyOffline() async {
        let ids = (0..<2_500).map { "\($0)" }
        for _ in 0..<2 { await receipts.add(ids, in: "room") }
        async let received: Void = receipts.flush()
        for first in stride(from: 0, to: 2_500, by: 500) {
            await server.expect(.read(Array(ids[first..<first + 500])), .done)
        }
        await received
        await clock.advance(by: .seconds(60))
        await server.expectNoCall()
    }

    /// Adds a receipt, and another one before the request with the first is answered.
    private func readDuringCall() async -> FakeMessageServer.Call {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        let call = await server.next()
        await receipts.add(["b"], in: "room")
        return call
    }

    @Test("messages read during a request do not cancel it")
    func inFlight() async {
        let call = await readDuringCall()
        await server.answer(call, .done)
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["b"]), .done)
    }

    @Test("messages read during a request and after it are collected as usual")
    func gatheredAfter() async {
        let call = await readDuringCall()
        await server.answer(call, .done)
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["b"]), .done)
        await clock.advance(by: .seconds(5))
        await receipts.add(["c"], in: "room")
        await TestClock.settle()
        await server.expectNoCall()
        await receipts.add(["d"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["c", "d"]), .done)
    }

    @Test("a flush during a request sends the rest before it returns")
    func flushedInFlight() async {
        let call = await readDuringCall()
        async let flushed: Void = receipts.flush()
        await TestClock.settle()
        await server.answer(call, .done)
        await server.expect(.read(["b"]), .done)
        await flushed
    }

    @Test(
        "receipts that the server did not accept are kept, whatever its answer",
        arguments: [refusal("unauthenticated"), refusal("new_code"), .unreadable("a page"), .signedOut])
    func notTaken(failure: ClientFailure) async {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["a"]), .failure(failure))
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(10))
        await server.expect(.read(["a"]), .done)
    }

    @Test("receipts of a room that is no longer the person's are dropped")
    func goneRoom() async {
        await receipts.add(["a"], in: "room")
        await clock.advance(by: .milliseconds(500))
        await server.expect(.read(["a"]), .failure(refusal("room_not_found")))
        await clock.advance(by: .seconds(60))
        await server.expectNoCall()
    }

    @Test("after signing out, no receipt is sent")
    func signedOut() async {
        await receipts.removeAll()
        await receipts.add(["a"], in: "room")
        await receipts.flush()
        await clock.advance(by: .seconds(60))
        await server.expectNoCall()
    }
}
