import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@MainActor
@Suite("Drafts", .timeLimit(.minutes(1)))
struct DraftsTests {
    private let clock = TestClock()
    private let temporary = TemporaryFolder()
    private var folder: URL { temporary.url.appending(path: "drafts") }

    /// Returns the drafts of the next run.
    private func makeDrafts() -> Drafts {
        let drafts = Drafts(files: RoomFiles(folder: folder), clock: clock)
        drafts.restore()
        return drafts
    }

    @Test("what was typed is there in the next run: for each room, and for each note of its board")
    func nextRun() async {
        let drafts = makeDrafts()
        for text in ["h", "hello"] { drafts["Room/1"] = text }
        drafts["Room/1", note: "n"] = "a note"
        drafts["room/1", note: "n"] = "another note"
        await clock.advance(by: .milliseconds(500))
        let next = makeDrafts()
        #expect(next["Room/1"] == "hello" && next["Room/1", note: "n"] == "a note")
        #expect(next["room/1"].isEmpty && next["room/1", note: "n"] == "another note" && next["x"].isEmpty)
    }

    @Test("an emptied draft leaves nothing on the disk, and does not come back with a late read")
    func emptied() async throws {
        let drafts = makeDrafts()
        drafts["a"] = "text"
        drafts.keepAll()
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["a.json"])
        let next = Drafts(files: RoomFiles(folder: folder), clock: clock)
        next["a"] = "x"
        next["a"] = ""
        next.restore()
        #expect(next["a"].isEmpty)
        await clock.advance(by: .milliseconds(500))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
    }

    @Test("while the disk cannot be read, drafts stay in memory; later the stored ones are there, too")
    func locked() throws {
        let drafts = makeDrafts()
        drafts["a"] = "stored"
        drafts["b"] = "older"
        drafts.keepAll()
        let aside = temporary.url.appending(path: "aside")
        try FileManager.default.moveItem(at: folder, to: aside)
        try Data().write(to: folder)
        let next = makeDrafts()
        next["b"] = "newer"
        next.keepAll()
        #expect(next["b"] == "newer")
        try FileManager.default.removeItem(at: folder)
        try FileManager.default.moveItem(at: aside, to: folder)
        next.keepAll()
        for drafts in [next, makeDrafts()] { #expect(drafts["a"] == "stored" && drafts["b"] == "newer") }
    }

    @Test("a file that cannot be read now is not replaced, and the drafts of other rooms are stored")
    func lockedFile() throws {
        let drafts = makeDrafts()
        drafts["a", note: "n"] = "stored"
        drafts.keepAll()
        let (file, aside) = (folder.appending(path: "a.json"), temporary.url.appending(path: "aside"))
        try FileManager.default.moveItem(at: file, to: aside)
        // A folder cannot be read as a file, not even by root.
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        let next = makeDrafts()
        for roomID in ["a", "b"] { next[roomID] = "newer" }
        next.keepAll()
        #expect(makeDrafts()["b"] == "newer")
        try FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: aside, to: file)
        next.keepAll()
        let last = makeDrafts()
        #expect(last["a"] == "newer" && last["a", note: "n"] == "stored")
    }

    @Test("a file that cannot be decoded is set aside")
    func unreadable() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("[1]".utf8).write(to: folder.appending(path: "a.json"))
        let drafts = makeDrafts()
        drafts["a"] = "new"
        drafts.keepAll()
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(names == ["a.json", "a.json.unreadable"])
    }

    @Test("a client stores drafts when it stops, and deletes those of a lost room, and all at the sign-out")
    func client() async throws {
        let home = try AdasDevice()
        let other = try home.server.makeRoom(by: home.ada.id, with: home.ben.id)
        let first = try await home.connected()
        for roomID in [home.roomID, other] { first.drafts[roomID] = "half a sen" }
        await first.endProcess()
        let client = try await home.connected()
        #expect(client.drafts[home.roomID] == "half a sen" && client.drafts[other] == "half a sen")
        client.rooms.forget(other, because: .roomGone)
        await lookUntil { client.drafts[other].isEmpty }
        client.drafts[home.roomID] = "half a sentence"
        await client.enterBackground()
        let files = home.temporary.url.appending(path: "drafts")
        #expect(try FileManager.default.contentsOfDirectory(atPath: files.path) == ["\(home.roomID.fileName()).json"])
        try await client.signOut()
        client.drafts[home.roomID] = "too late"
        await client.stop()
        #expect(client.drafts[home.roomID].isEmpty)
        #expect(!FileManager.default.fileExists(atPath: files.path))
    }
}
