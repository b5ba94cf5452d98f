import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("MessageCache")
struct MessageCacheTests {
    let temporary = TemporaryFolder()
    var folder: URL { temporary.url }
    let clock = TestClock(start: start)

    func makeCache(roomLimit: Int = 50) -> MessageCache {
        MessageCache(files: RoomFiles(folder: folder), clock: clock, messageLimit: 3, roomLimit: roomLimit)
    }

    func files() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    @Test("the last messages come back unchanged, including receipts")
    func kept() async {
        let messages = (1...5).map {
            var message = sample($0, tempID: "t\($0)", readBy: [receipt("me", 0.123)], isRead: true)
            message.sender = Person(id: "ann", username: "ann", firstName: "Ann")
            return message
        }
        let cache = makeCache()
        #expect(await cache.openRoom("room").isEmpty)
        await cache.keep(messages, of: "room")
        #expect(await makeCache().openRoom("room") == Array(messages.suffix(3)))
    }

    @Test(
        "a broken file, or one of another format, is dropped",
        arguments: ["", "{\"format\":1,\"messages\":[{}]}", "{\"format\":2,\"messages\":[]}"])
    func unreadable(contents: String) async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data(contents.utf8).write(to: folder.appending(path: "room.json"))
        #expect(await makeCache().openRoom("room").isEmpty)
        #expect(try files() == [])
    }

    @Test("a file that cannot be read now is kept")
    func notReadableNow() async throws {
        // A folder in the place of the file cannot be read, just as a locked file cannot.
        try FileManager.default.createDirectory(
            at: folder.appending(path: "room.json"), withIntermediateDirectories: true)
        #expect(await makeCache().openRoom("room").isEmpty)
        #expect(try files() == ["room.json"])
    }

    @Test("beyond the limit, the room opened longest ago is removed, also after a restart")
    func evicted() async throws {
        let first = makeCache(roomLimit: 2)
        for room in ["a", "b"] {
            _ = await first.openRoom(room)
            await first.keep([sample(1, room: room)], of: room)
            await clock.advance(by: .seconds(1))
        }
        _ = await first.openRoom("a")
        await clock.advance(by: .seconds(1))
        // Room b is written last, but it was opened before room a.
        await first.keep([sample(2, room: "b")], of: "b")

        let second = makeCache(roomLimit: 2)
        _ = await second.openRoom("c")
        await second.keep([sample(1, room: "c")], of: "c")
        #expect(try files() == ["a.json", "c.json"])
    }

    @Test("rooms opened while the clock was ahead do not keep later ones out, also after a restart")
    func clockSetBack() async throws {
        let ahead = TestClock(start: start.addingTimeInterval(86_400))
        let early = MessageCache(files: RoomFiles(folder: folder), clock: ahead, messageLimit: 3, roomLimit: 2)
        for room in ["a", "b"] {
            _ = await early.openRoom(room)
            await early.keep([sample(1, room: room)], of: room)
        }
        for room in ["c", "d"] {
            let cache = makeCache(roomLimit: 2)
            await clock.advance(by: .seconds(1))
            _ = await cache.openRoom(room)
            #expect(await cache.keep([sample(1, room: room)], of: room))
            #expect(try files().contains("\(room).json"))
            await clock.advance(by: .seconds(1))
        }
        #expect(try files() == ["c.json", "d.json"])
    }

    @Test("a write that fails says so")
    func failedWrite() async throws {
        let cache = makeCache()
        #expect(await !cache.keep([sample(1)], of: "room"), "the room is not open")
        _ = await cache.openRoom("room")
        #expect(await cache.keep([sample(1)], of: "room"))
        try FileManager.default.createDirectory(
            at: folder.appending(path: "room.json.new"), withIntermediateDirectories: true)
        #expect(await !cache.keep([sample(2)], of: "room"))
        #expect(await cache.openRoom("room") == [sample(1)])
    }

    @Test("a removed room stays removed, whatever work is still in progress")
    func removed() async throws {
        let cache = makeCache()
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        await cache.remove("room")
        await cache.keep([sample(1)], of: "room")
        #expect(try files() == [])
    }

    @Test("after signing out, no file is left")
    func signOut() async throws {
        let cache = makeCache()
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        try await cache.removeAll()
        await cache.keep([sample(1)], of: "room")
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test("a room's id may be anything", arguments: ["../up", "A", "a b/c", "é", "%2e"])
    func names(room: String) async throws {
        let cache = makeCache()
        _ = await cache.openRoom(room)
        await cache.keep([sample(1, room: room)], of: room)
        #expect(try files().count == 1)
        #expect(await makeCache().openRoom(room).count == 1)
        #expect(await makeCache().openRoom(room.lowercased() + "x").isEmpty)
    }

    @Test("after signing out, an opened room is not cached")
    func openedAfterwards() async throws {
        let cache = makeCache()
        try await cache.removeAll()
        _ = await cache.openRoom("room")
        await cache.keep([sample(1)], of: "room")
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
}
