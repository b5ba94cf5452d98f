import Foundation
import Testing

@testable import parlor_bench

@Suite("Counting what is written into a folder", .timeLimit(.minutes(1)))
struct FolderWatchTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)

    private func wait(for watch: FolderWatch, until isSo: (FolderWatch.Writes) -> Bool) async {
        // The time limit cancels it, and the caller's expectation fails.
        while !Task.isCancelled, !isSo(watch.writes) { await Task.yield() }
    }

    @Test("a replaced file counts with its size each time, an appended one with its growth, drafts not at all")
    func counts() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let watch = FolderWatch(folder.path)
        let file = folder.appending(path: "a.json")
        for round in 1...2 {
            let draft = folder.appending(path: "a.json.new")
            try Data(count: 100).write(to: draft)
            try #require(rename(draft.path, file.path) == 0)
            await wait(for: watch) { $0.files == round }
            #expect(watch.writes.bytes == 100 * round)
        }
        let journal = folder.appending(path: "a.journal")
        try #require(FileManager.default.createFile(atPath: journal.path, contents: nil))
        for size in [10, 15] {
            let handle = try FileHandle(forWritingTo: journal)
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(count: size - Int(try handle.offset())))
            try handle.close()
            await wait(for: watch) { $0.bytes == 200 + size }
        }
        #expect(watch.writes.files == 4 && watch.writes.bytes == 215)
    }

    @Test("a folder that is made later is watched too")
    func later() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }  // a temporary one
        let watch = FolderWatch(folder.path)
        let inner = folder.appending(path: "rooms")
        try FileManager.default.createDirectory(at: inner, withIntermediateDirectories: false)
        // The watch begins a moment after the folder is there.
        var round = 0
        while !Task.isCancelled, watch.writes.files == 0 {
            round += 1
            try Data(count: round).write(to: inner.appending(path: "x"))
            await Task.yield()
        }
        #expect(watch.writes.bytes > 0)
    }
}
