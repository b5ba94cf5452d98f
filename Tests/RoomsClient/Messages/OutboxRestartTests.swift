import Foundation
import RoomsClientTesting
import Testing

@testable import RoomsClient

extension OutboxTests {
    @Test("what is in the outbox when the app ends is sent by the next, failures stay failures")
    func restart() async throws {
        let first = makeOutbox()
        for id in ["a", "b", "c"] { try await first.append(typed(id), in: "room") }
        await server.expect(request("a"), .failure(refusal("invalid_field")))
        // Sent, and never answered.
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

    @Test("a message typed before the kept ones were read does not replace them")
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

    @Test("a file that cannot be read, or is of another format, is kept aside and told; the other rooms go on")
    func unreadable() async throws {
        let first = makeOutbox()
        try await first.append(typed("a"), in: "Good/Room")
        let unanswered = await server.next()
        await first.stop()
        let broken = Data("{\"format\": 1, \"mess".utf8)
        try broken.write(to: folder.appending(path: "broken.json"))
        let foreign = Data("{\"format\": 2, \"roomID\": \"new\", \"messages\": []}".utf8)
        try foreign.write(to: folder.appending(path: "new.json"))

        let second = makeOutbox()
        let troubles = try await second.start().sorted { $0.roomID < $1.roomID }
        #expect(troubles.map(\.roomID) == ["broken", "new"])
        #expect(try troubles.map { try Data(contentsOf: $0.keptAt) } == [broken, foreign])
        await server.expect(request("a", room: "Good/Room"), stored(1, "a"))
        await server.answer(unanswered, stored(1, "a"))
        #expect(try await second.start() == [], "told once")
    }

    @Test("a message that the disk refuses is not taken")
    func fullDisk() async throws {
        try FileManager.default.createDirectory(
            at: folder.deletingLastPathComponent(), withIntermediateDirectories: true)
        // A file where the folder should be.
        try Data().write(to: folder)
        let outbox = makeOutbox()
        await #expect(throws: (any Error).self) { try await outbox.append(typed("a"), in: "room") }
        #expect(await outbox.messages(in: "room").isEmpty)
        await server.expectNoCall()
    }

    @Test("signed out, nothing is sent and nothing stays")
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
}
