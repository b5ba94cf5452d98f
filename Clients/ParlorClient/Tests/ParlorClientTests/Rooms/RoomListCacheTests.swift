import ClientTestSupport
import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@MainActor
@Suite("RoomListCache", .timeLimit(.minutes(1)))
struct RoomListCacheTests {
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url }
    private let clock = TestClock(start: Given.at(1000))
    private let server = FakeRoomServer()
    private let list: RoomList

    init() {
        list = RoomList(
            for: "me", from: server, clock: clock, cache: RoomListCache(files: RoomFiles(folder: temporary.url)))
    }

    private func kept() async -> [Room] { await RoomListCache(files: RoomFiles(folder: folder)).rooms() }

    @Test("the cache returns the stored rooms")
    func keeps() async {
        let room = Given.room(
            "a", updatedAt: 5, messagesUpdatedAt: 20.123, elements: 3, badges: .init(messages: 1, elements: 2),
            last: Given.last("m1", at: 20.123))
        let cache = RoomListCache(files: RoomFiles(folder: folder))
        #expect(await cache.rooms().isEmpty)
        await cache.keep([room])
        #expect(await kept() == [room])
    }

    @Test("a room that is no longer the person's leaves the disk, whichever answer shows it")
    func gone() async {
        server.all = [Given.room("a"), Given.room("b"), Given.room("c")]
        await list.refresh()
        await lookUntil { await kept().count == 3 }
        server.all.removeAll { $0.id == "a" }
        await list.refresh()
        await lookUntil { await Set(kept().map(\.id)) == ["b", "c"] }
        await clock.advance(by: .seconds(10))
        server.all.removeAll { $0.id == "b" }
        list.apply(Given.newGlobal("m1", in: "b", at: 20))
        await clock.advance(by: .milliseconds(100))
        await lookUntil { await kept().map(\.id) == ["c"] }
    }

    @Test("cached rooms and their counts are shown until the server answers")
    func shown() async {
        await RoomListCache(files: RoomFiles(folder: folder)).keep([
            Given.room("a", badges: .init(messages: 2)), Given.room("b"),
        ])
        server.hold()
        list.loadFirst()
        list.loadFirst()
        await server.untilCalled(1)
        #expect(Set(list.rooms.map(\.id)) == ["a", "b"])
        #expect(list.counts.latest(of: "a")?.unreadMessages == 2)
        #expect(!list.isLoaded)
        server.release()
        await TestClock.settle()
        #expect(list.rooms.isEmpty && list.isLoaded)
        #expect(list.counts.latest(of: "a") == nil)
        #expect(server.calls == ["rooms"])
    }

    @Test("a broken file, or one of another format, is dropped")
    func broken() async throws {
        await RoomListCache(files: RoomFiles(folder: folder)).keep([Given.room("a")])
        let file = try #require(
            try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil).first)
        for text in ["{", #"{"format":9,"rooms":[]}"#] {
            try Data(text.utf8).write(to: file)
            #expect(await kept().isEmpty)
            #expect(!FileManager.default.fileExists(atPath: file.path))
        }
    }

    @Test("a file that cannot be read now is kept")
    func notReadableNow() async throws {
        // A folder in the place of the file cannot be read, just as a locked file cannot.
        let file = folder.appending(path: "rooms.json")
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
        #expect(await kept().isEmpty)
        #expect(FileManager.default.fileExists(atPath: file.path))
    }

    @Test("after signing out, nothing is written any more")
    func signedOut() async throws {
        let cache = RoomListCache(files: RoomFiles(folder: folder))
        await cache.keep([Given.room("a")])
        try await cache.removeAll()
        await cache.keep([Given.room("a")])
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
}
