import Foundation
import ParlorStorage
import ParlorTestSupport
import Synchronization
import Testing

/// The state that a machine leaves when it stops at any moment: the files as they were, with the
/// log cut off anywhere.
///
/// `SEED=7 swift test --filter Durability` cuts at other places; the moments are the scheduler's.
@Suite("Acknowledged writes are on disk", .timeLimit(.minutes(2)))
struct DurabilityTests {
    /// The file systems that the copies are opened on need not be slow: what they hold is not ours to keep.
    private static let memory = FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : "/tmp"
    private static let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init) ?? 1
    private static let items = Migration(
        version: 1, name: "items", sql: "CREATE TABLE items (n INTEGER PRIMARY KEY, filler TEXT NOT NULL)")

    /// An acknowledged write, and the log's length then: its commit ends at or before that.
    private struct Acknowledged {
        let n: Int
        let logLength: Int
    }

    /// The two files at one moment: no checkpoint intervenes, as the log stays far below the length
    /// that causes one.
    private struct Image {
        let database: [UInt8]
        let log: [UInt8]
        /// The writes acknowledged before the copy was begun.
        let before: Int
    }

    private final class Source: Sendable {
        let folder: TemporaryFolder
        let database: SQLiteDatabase
        private let acknowledgements = Mutex<[Acknowledged]>([])

        init() throws {
            folder = TemporaryFolder()
            database = try SQLiteDatabase(.file(folder.file("test.db")), migrations: [items])
        }

        var acknowledged: [Acknowledged] { acknowledgements.withLock { $0 } }

        /// Queues a write; earlier queued ones commit before it or with it.
        func write(_ n: Int, bytes: Int) -> Task<Void, any Error> {
            Task.immediate {
                try await database.write {
                    try $0.execute(
                        "INSERT INTO items (n, filler) VALUES ($1, $2)", n, String(repeating: "x", count: bytes))
                }
                let length = try logLength()
                acknowledgements.withLock { $0.append(Acknowledged(n: n, logLength: length)) }
            }
        }

        private func logLength() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: folder.file("test.db-wal"))[.size] as? Int ?? 0
        }

        func image() throws -> Image {
            let before = acknowledgements.withLock { $0.count }
            let database = try Data(contentsOf: URL(fileURLWithPath: folder.file("test.db")))
            let log = try Data(contentsOf: URL(fileURLWithPath: folder.file("test.db-wal")))
            return Image(database: Array(database), log: Array(log), before: before)
        }
    }

    /// Returns the numbers in the database that opens from an image with its log cut.
    private func recovered(_ image: Image, cutAt length: Int) async throws -> [Int] {
        let folder = TemporaryFolder(in: Self.memory)
        try Data(image.database).write(to: URL(fileURLWithPath: folder.file("test.db")))
        try Data(image.log[..<length]).write(to: URL(fileURLWithPath: folder.file("test.db-wal")))
        let database = try SQLiteDatabase(.file(folder.file("test.db")), migrations: [Self.items])
        let found = try await database.read { try $0.all("SELECT n FROM items ORDER BY n") { $0.int(0) } }
        await database.close()
        return found
    }

    @Test("after a cut at any of a thousand places a prefix opens, with every write acknowledged before its end")
    func cuts() async throws {
        var random = SeededGenerator(seed: Self.seed)
        let source = try Source()
        var images: [Image] = []
        var writes: [Task<Void, any Error>] = []
        // Bursts of one to a dozen, so that commits hold one write or many, of less than a page or of several.
        for _ in 0..<40 {
            for _ in 0..<Int.random(in: 1...12, using: &random) {
                writes.append(source.write(writes.count, bytes: Int.random(in: 1...6000, using: &random)))
            }
            if Bool.random(using: &random) { try await writes.last?.value }
            images.append(try source.image())
        }
        for write in writes { try await write.value }
        #expect(source.database.statistics.checkpoints == 0)
        let acknowledged = source.acknowledged

        for (number, image) in images.enumerated() {
            var lengths = (0..<24).map { _ in Int.random(in: 0...image.log.count, using: &random) }
            lengths.append(image.log.count)
            for length in lengths {
                let found = try await recovered(image, cutAt: length)
                // Writes after the image may have left the log's length as it was: they overwrite what the migrations
                // wrote.
                let earlier = acknowledged.prefix(image.before)
                let due = earlier.filter { $0.logLength <= length }.map(\.n).max().map { $0 + 1 } ?? 0
                let least = max(due, length == image.log.count ? image.before : 0)
                #expect(
                    found == Array(0..<found.count) && found.count >= least,
                    "seed \(Self.seed), image \(number), cut at \(length) of \(image.log.count): \(found.count) of \(least)"
                )
            }
        }
        await source.database.close()
    }

    @Test(
        "a copy taken during a checkpoint has every acknowledged write, too"
    )
    func checkpoints() async throws {
        let source = try Source()
        // Past the length that asks for a checkpoint, which the next writes run beside.
        let filler = 1 << 20
        var n = 0
        while source.database.statistics.checkpoints == 0 {
            try await source.write(n, bytes: filler).value
            n += 1
            if n >= 15 {
                let image = try source.image()
                #expect(try await recovered(image, cutAt: image.log.count) == Array(0..<n))
            }
        }
        await source.database.close()
    }
}
