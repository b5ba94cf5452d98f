import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

extension OutboxTests {
    @Test("unsent messages are sent by the next run, and failed ones stay failed")
    func restart() async throws {
        let first = makeOutbox()
        for id in ["a", "b", "c"] { try await first.append(typed(id), in: "room") }
        await server.expect(request("a"), .failure(refusal("invalid_field")))
        // The request for "b" is never answered.
        let unanswered = await server.next()
        #expect(unanswered.request == request("b"))
        await first.stop()

        let second = makeOutbox()
        #expect(try await second.start() == [])
        #expect(await second.messages(in: "room").map(\.tempID) == ["a", "b", "c"])
        #expect(await second.messages(in: "room").first?.state.isFailed == true)
        await server.expect(request("b"), stored(1, "b"))
        await server.expect(request("c"), stored(2, "c"))
        await server.answer(unanswered, stored(1, "b"))
        await TestClock.settle()
        await second.stop()

        let third = makeOutbox()
        _ = try await third.start()
        #expect(await third.messages(in: "room").map(\.tempID) == ["a"])
    }

    @Test("a message typed before the stored ones were read does not replace them")
    func appendFirst() async throws {
        let first = makeOutbox()
        try await first.append(typed("a"), in: "room")
        let unanswered = await server.next()
        await first.stop()

        let second = makeOutbox()
        try await second.append(typed("b"), in: "room")
        #expect(await second.messages(in: "room").map(\.tempID) == ["a", "b"])
        await server.expect(request("a"), stored(1, "a"))
        await server.expect(request("b"), stored(2, "b"))
        await server.answer(unanswered, stored(1, "a"))
    }

    @Test("a message that could not be sent for a day fails, and is sent only if the person retries it")
    func tooOld() async throws {
        let day: Duration = .seconds(24 * 60 * 60)
        let first = makeOutbox()
        for id in ["a", "b", "c"] { try await first.append(typed(id), in: "room") }
        await server.expect(request("a"), .failure(offline))
        await clock.untilSleeping(1)
        await first.stop()
        await clock.advance(by: day + .seconds(1))

        let second = makeOutbox()
        _ = try await second.start()
        let new = PendingMessage(tempID: "new", text: "text of new", createdAt: clock.now)
        try await second.append(new, in: "room")
        await server.expect(request("new"), stored(1, "new"))
        await TestClock.settle()
        let failed = await second.messages(in: "room").prefix(3).map(\.state)
        #expect(failed == Array(repeating: .failed(.tooOld), count: 3))
        #expect(await second.discard("b", in: "room"))
        #expect(await second.retry("c", in: "room"))
        let unanswered = await server.next()
        #expect(unanswered.request == request("c"))
        await second.stop()
        await server.answer(unanswered, .failure(offline))

        await clock.advance(by: day - .milliseconds(500))
        let third = makeOutbox()
        _ = try await third.start()
        await server.expect(request("c"), .failure(offline))
        await clock.untilSleeping(1)
        await clock.advance(by: day)
        await lookUntil { await third.messages(in: "room").last?.state.isFailed == true }
        await server.expectNoCall()
        #expect(await third.messages(in: "room").map(\.tempID) == ["a", "c"])
        #expect(await third.messages(in: "room").map(\.state) == [.failed(.tooOld), .failed(.tooOld)])
    }

    @Test("a broken file, or one of another format, is set aside and reported, and the others are sent")
    func unreadable() async throws {
        let first = makeOutbox()
        try await first.append(typed("a"), in: "Good/Room")
        let unanswered = await server.next()
        await first.stop()
        let broken = Data("{\"format\": 2, \"mess".utf8)
        try broken.write(to: folder.appending(path: "broken%2F1.json"))
        let foreign = Data("{\"format\": 3, \"roomID\": \"new\", \"messages\": []}".utf8)
        try foreign.write(to: folder.appending(path: "new%2F1.json"))
        let good = try String(contentsOf: folder.appending(path: "%47ood%2F%52oom%2F1.json"), encoding: .utf8)
        let odd = Data(good.replacing("\"number\":1", with: "\"number\":\(Int.max)").utf8)
        try odd.write(to: folder.appending(path: "odd%2F1.json"))

        let second = makeOutbox()
        let failures = try await second.start().sorted { $0.roomID < $1.roomID }
        #expect(failures.map(\.roomID) == ["broken", "new", "odd"])
        #expect(try failures.map { try Data(contentsOf: $0.keptAt) } == [broken, foreign, odd])
        await server.expect(request("a", room: "Good/Room"), stored(1, "a"))
        await server.answer(unanswered, stored(1, "a"))
        #expect(try await second.start() == [], "it is reported once")
    }

    @Test(
        "a file that cannot be read now stays; nothing is sent before it, and the next attempt reads it"
    )
    func notReadableNow() async throws {
        let first = makeOutbox()
        try await first.append(typed("a"), in: "room")
        let unanswered = await server.next()
        await first.stop()
        let name = try #require(FileManager.default.contentsOfDirectory(atPath: folder.path).first)
        let (file, hidden) = (folder.appending(path: name), folder.appending(path: "hidden"))
        // A folder in the place of the file cannot be read, just as a locked file cannot.
        try FileManager.default.moveItem(at: file, to: hidden)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)

        let second = makeOutbox()
        await #expect(throws: (any Error).self) { try await second.start() }
        try await second.append(typed("b"), in: "room")
        #expect(await second.messages(in: "room").map(\.state.isFailed) == [true])
        #expect(FileManager.default.fileExists(atPath: file.path))
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: hidden, to: file)
        #expect(try await second.start() == [])
        #expect(await second.messages(in: "room").map(\.tempID) == ["a", "b"])
        #expect(await second.retry("b", in: "room"))
        await server.expect(request("a"), stored(1, "a"))
        await server.expect(request("b"), stored(2, "b"))
        await server.answer(unanswered, stored(1, "a"))
    }

    @Test("a message that the disk refuses fails, stays, and is sent when the disk accepts it")
    func fullDisk() async throws {
        try FileManager.default.removeItem(at: folder)
        // A file in the place of the folder makes every write fail.
        try Data().write(to: folder)
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        #expect(await outbox.messages(in: "room").map(\.state.isFailed) == [true])
        #expect(await outbox.retry("a", in: "room"))
        #expect(await outbox.messages(in: "room").map(\.state.isFailed) == [true])
        await server.expectNoCall()
        try FileManager.default.removeItem(at: folder)
        #expect(await outbox.retry("a", in: "room"))
        await server.expect(request("a"), stored(1, "a"))
    }

    @Test("a message that the disk cannot delete is not discarded: it stays, failed, also after a restart")
    func undeletable() async throws {
        let disk = StuckDisk()
        let first = makeOutbox(removeItem: { try disk.remove($0) })
        for id in ["a", "b"] { try await first.append(typed(id), in: "room") }
        let unanswered = await server.next()
        disk.isStuck = true
        #expect(await !first.discard("b", in: "room"))
        #expect(await first.messages(in: "room").map(\.state.isFailed) == [false, true])
        await server.answer(unanswered, .failure(refusal("invalid_field")))
        await TestClock.settle()
        await server.expectNoCall()
        await first.stop()

        let second = makeOutbox()
        _ = try await second.start()
        await TestClock.settle()
        await server.expectNoCall()
        #expect(await second.messages(in: "room").map(\.state.isFailed) == [true, true])
        #expect(await second.discard("b", in: "room"))
        #expect(try await makeOutbox().unsentCount() == 1)
    }

    /// A disk that deletes nothing while it is stuck.
    private final class StuckDisk: Sendable {
        private let stuck = Guarded(false)
        var isStuck: Bool {
            get { stuck.withLock(\.self) }
            set { stuck.withLock { $0 = newValue } }
        }

        func remove(_ url: URL) throws {
            if isStuck { throw CocoaError(.fileWriteNoPermission) }
            try FileManager.default.removeItem(at: url)
        }
    }

    @Test("a stopped outbox discards nothing, because another one may have its files")
    func stoppedDiscard() async throws {
        let first = makeOutbox()
        for id in ["a", "b"] { try await first.append(typed(id), in: "room") }
        let unanswered = await server.next()
        await first.stop()
        #expect(await !first.discard("b", in: "room"))
        #expect(await first.messages(in: "room").map(\.tempID) == ["a", "b"])
        await server.answer(unanswered, .failure(offline))
    }

    @Test("a stopped outbox throws on a new message")
    func stopped() async throws {
        let outbox = makeOutbox()
        await outbox.stop()
        await #expect(throws: SendFailure.self) { try await outbox.append(typed("a"), in: "room") }
        #expect(await outbox.messages(in: "room").isEmpty)
    }

    @Test("each message has its own file, which is deleted when the server has stored it")
    func files() async throws {
        let outbox = makeOutbox()
        for id in ["a", "b", "c"] { try await outbox.append(typed(id), in: "room") }
        let before = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(before.count == 3)
        await server.expect(request("a"), stored(1, "a"))
        let next = await server.next()
        #expect(next.request == request("b"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 2)
    }

    @Test("a removed room's messages are deleted, also on disk, and other rooms continue")
    func goneRoom() async throws {
        let outbox = makeOutbox()
        let changes = Changes()
        _ = await outbox.follow("room") { changes.append($0) }
        try await outbox.append(typed("a"), in: "room")
        await server.expect(request("a"), .failure(refusal("room_not_found")))
        try await outbox.append(typed("b"), in: "other")
        let call = await server.next()
        await outbox.removeAll(in: "room")
        #expect(await outbox.messages(in: "room").isEmpty)
        #expect(changes.all.last == .all([]))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["other%2F2.json"])
        await server.answer(call, stored(1, "b"))
    }

    @Test("after signing out, nothing is sent and no file is left")
    func signOut() async throws {
        let outbox = makeOutbox()
        try await outbox.append(typed("a"), in: "room")
        let call = await server.next()
        try await outbox.stopAndRemoveAll()
        await server.answer(call, .failure(.signedOut))
        await TestClock.settle()
        await server.expectNoCall()
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("counting unsent messages sends nothing")
    func counting() async throws {
        let first = makeOutbox()
        for (id, room) in [("a", "room"), ("b", "room"), ("c", "other")] { try await first.append(typed(id), in: room) }
        let unanswered = [await server.next(), await server.next()]
        #expect(try await first.unsentCount() == 3)
        await first.stop()

        let second = makeOutbox()
        #expect(try await second.unsentCount() == 3)
        await TestClock.settle()
        await server.expectNoCall()
        for call in unanswered { await server.answer(call, .failure(.signedOut)) }
    }

    @Test("a file set aside before an unreadable one is reported once that one can be read")
    func putAsideEarlier() async throws {
        let locked = folder.appending(path: "locked%2F1.json")
        // A folder in the place of the file cannot be read, just as a locked file cannot.
        try FileManager.default.createDirectory(at: locked, withIntermediateDirectories: true)
        for number in 1...20 { try Data("{".utf8).write(to: folder.appending(path: "broken%2F\(number).json")) }
        let outbox = makeOutbox()
        await #expect(throws: (any Error).self) { try await outbox.start() }
        try FileManager.default.removeItem(at: locked)
        #expect(try await outbox.start().count == 20)
    }
}
