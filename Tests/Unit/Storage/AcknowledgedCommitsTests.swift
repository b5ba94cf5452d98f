import Foundation
import ParlorEventLog
import ParlorStorage
import ParlorTestSupport
import Testing

/// What a start says of files that somebody lost or damaged while the program was not running.
@Suite("A database that lacks what it acknowledged")
struct AcknowledgedCommitsTests {
    private static let items = Migration(version: 1, name: "items", sql: "CREATE TABLE items (id TEXT, n INTEGER)")
    private static let writes = 40

    /// What happens to the files.
    enum Damage: CaseIterable {
        case noLog, emptyLog, header, middle, end, noFile, emptyFile, anotherLog

        func apply(in folder: TemporaryFolder) throws {
            let (path, log) = (folder.file("test.db"), folder.file("test.db-wal"))
            func change(_ path: String, _ body: (inout Data) -> Void) throws {
                var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
                body(&bytes)
                try bytes.write(to: URL(fileURLWithPath: path))
            }
            switch self {
            case .noLog: try FileManager.default.removeItem(atPath: log)
            case .emptyLog: try change(log) { $0 = Data() }
            case .header: try change(log) { $0[3] ^= 1 }
            case .middle: try change(log) { $0[$0.count / 2] ^= 1 }
            case .end: try change(log) { $0.removeLast() }
            case .noFile: try FileManager.default.removeItem(atPath: path)
            case .emptyFile: try change(path) { $0 = Data() }
            case .anotherLog:
                let other = TemporaryFolder()
                let database = try SQLiteDatabase(.file(other.file("test.db")), migrations: [items])
                try FileManager.default.removeItem(atPath: log)
                try FileManager.default.copyItem(atPath: other.file("test.db-wal"), toPath: log)
                withExtendedLifetime(database) {}
            }
        }
    }

    /// A kind of change: with an entry in the event log, or without one.
    enum Change: CaseIterable {
        case logged, unlogged

        func write(_ n: Int, to database: SQLiteDatabase) async throws {
            try await database.write { connection in
                try connection.execute("INSERT INTO items (id, n) VALUES ($1, $2)", "item", n)
                guard self == .logged else { return }
                try EventLog.append(
                    at: .init(milliseconds: 0), roomID: "room", participants: [], emissions: [], on: connection)
            }
        }
    }

    private func open(in folder: TemporaryFolder) throws -> SQLiteDatabase {
        try SQLiteDatabase(.file(folder.file("test.db")), migrations: [Self.items])
    }

    /// Returns the files that a killed process leaves after some writes.
    private func crashed(_ change: Change) async throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        let database = try open(in: folder)
        for n in 0..<Self.writes { try await change.write(n, to: database) }
        let left = try folder.copyAsAfterACrash()
        await database.close()
        return left
    }

    private func count(_ database: SQLiteDatabase) async throws -> Int {
        try await database.read { try $0.first("SELECT count(*) FROM items") { $0.int(0) } ?? 0 }
    }

    /// Returns the bytes of each file; none for one that is missing.
    private static func contents(of folder: TemporaryFolder) -> [Data] {
        ["test.db", "test.db-wal", "test.db-acknowledged"].map {
            (try? Data(contentsOf: URL(fileURLWithPath: folder.file($0)))) ?? Data()
        }
    }

    @Test(
        "a start names the file and the way on, and leaves the files as they are: put back, they are whole",
        arguments: Damage.allCases, Change.allCases)
    func refusal(damage: Damage, change: Change) async throws {
        let folder = try await crashed(change)
        let whole = Self.contents(of: folder)
        try damage.apply(in: folder)
        let before = Self.contents(of: folder)
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) { try open(in: folder) }
            let text = try #require(error).description
            #expect(text.contains("test.db") && text.contains("delete") && text.contains("test.db-acknowledged"))
            let isMissing = damage == .noFile || damage == .emptyFile
            #expect(text.contains(isMissing ? "is missing or empty" : "lacks acknowledged changes"))
            #expect(throws: StorageError.self) { try DatabaseFile(existing: folder.file("test.db")) }
            #expect(Self.contents(of: folder) == before)
        }
        for (name, content) in zip(["test.db", "test.db-wal"], whole) {
            try content.write(to: URL(fileURLWithPath: folder.file(name)))
        }
        let database = try open(in: folder)
        #expect(try await count(database) == Self.writes)
        await database.close()
    }

    @Test("a damaged record is named, and deleting it is the way on", arguments: ["", "\0\0", "of no database"])
    func damagedRecord(content: String) async throws {
        let folder = try await crashed(.logged)
        let record = folder.file("test.db-acknowledged")
        try Data(content.utf8).write(to: URL(fileURLWithPath: record))
        let error = #expect(throws: StorageError.self) { try open(in: folder) }
        let text = try #require(error).description
        #expect(text.contains(record) && text.contains("is damaged") && text.contains("delete it"))
        try FileManager.default.removeItem(atPath: record)
        let database = try open(in: folder)
        #expect(try await count(database) == Self.writes)
        await database.close()
    }

    @Test("a database of which all files are gone is not taken for a new one, until its name is deleted too")
    func allFilesGone() async throws {
        let folder = try await crashed(.logged)
        try await open(in: folder).close()
        let other = try SQLiteDatabase(.file(folder.file("other.db")), migrations: [Self.items])
        await other.close()
        for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasPrefix("test.db") {
            try FileManager.default.removeItem(atPath: folder.file(name))
        }
        let error = #expect(throws: StorageError.self) { try open(in: folder) }
        let (text, names) = (try #require(error).description, folder.file("parlor.databases"))
        #expect(text.contains(folder.file("test.db")) && text.contains(names))
        #expect(try String(contentsOfFile: names, encoding: .utf8) == "test.db\nother.db\n")
        try Data("other.db\n".utf8).write(to: URL(fileURLWithPath: names))
        let database = try open(in: folder)
        #expect(try await count(database) == 0)
        await database.close()
    }

    @Test("a file that was removed or replaced while it is open is damage", arguments: [true, false])
    func removedWhileOpen(isReplaced: Bool) async throws {
        let folder = TemporaryFolder()
        let path = folder.file("test.db")
        let database = try open(in: folder)
        try database.requireFile()
        if isReplaced {
            try FileManager.default.copyItem(atPath: path, toPath: folder.file("copy"))
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: folder.file("copy"), toPath: path)
        } else {
            try FileManager.default.removeItem(atPath: path)
        }
        let error = #expect(throws: StorageError.self) { try database.requireFile() }
        #expect(error?.description.contains(path) == true)
        await database.close()
    }

    @Test("without the record a database opens with what is left")
    func wayOn() async throws {
        let folder = try await crashed(.logged)
        try Damage.middle.apply(in: folder)
        try FileManager.default.removeItem(atPath: folder.file("test.db-acknowledged"))
        let database = try open(in: folder)
        #expect(try await count(database) < Self.writes)
        await database.close()
    }

    @Test("the files of a killed process open, and so do those of one that stopped", arguments: Change.allCases)
    func whole(change: Change) async throws {
        let folder = try await crashed(change)
        for _ in 0..<2 {
            let database = try open(in: folder)
            #expect(try await count(database) == Self.writes)
            await database.close()
        }
    }

    @Test("processes that start and stop beside one that writes are not refused")
    func beside() async throws {
        let folder = TemporaryFolder()
        let database = try open(in: folder)
        let writing = Task {
            for n in 0..<400 { try await Change.allCases[n % 2].write(n, to: database) }
        }
        for _ in 0..<40 { try await open(in: folder).close() }
        try await writing.value
        await database.close()
        // Each of these is the last to close, or not, while another one opens.
        try await withThrowingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10 { try await open(in: folder).close() }
                }
            }
            try await group.waitForAll()
        }
        let again = try open(in: folder)
        #expect(try await count(again) == 400)
        await again.close()
    }

    @Test("a database that another program creates while this one starts is opened")
    func createdMeanwhile() async throws {
        let (folder, other) = (TemporaryFolder(), try await crashed(.logged))
        let record = "test.db-acknowledged"
        let bytes = try Data(contentsOf: URL(fileURLWithPath: other.file(record)))
        // The start sees no file, and then waits for the record.
        #expect(mkfifo(folder.file(record), 0o600) == 0)
        async let opened = onThread { try open(in: folder) }
        let pipe = try await onThread { try FileHandle(forWritingTo: URL(fileURLWithPath: folder.file(record))) }
        for name in ["test.db", "test.db-wal", record] {
            #expect(rename(other.file(name), folder.file(name)) == 0)
        }
        try pipe.write(contentsOf: bytes)
        try pipe.close()
        let database = try await opened
        #expect(try await count(database) == Self.writes)
        await database.close()
    }

    @Test("an older copy of a database that stopped is refused")
    func older() async throws {
        let folder = TemporaryFolder()
        let path = folder.file("test.db")
        for n in 0..<2 {
            let database = try open(in: folder)
            try await Change.logged.write(n, to: database)
            await database.close()
            if n == 0 { try FileManager.default.copyItem(atPath: path, toPath: folder.file("older")) }
        }
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.moveItem(atPath: folder.file("older"), toPath: path)
        #expect(throws: StorageError.self) { try open(in: folder) }
    }

    @Test("a restored backup has a history of its own")
    func restored() async throws {
        let folder = TemporaryFolder()
        let database = try open(in: folder)
        try await Change.logged.write(0, to: database)
        let file = try DatabaseFile(existing: folder.file("test.db"))
        try file.copy(to: folder.file("backup"))
        file.close()
        for n in 1..<Self.writes { try await Change.logged.write(n, to: database) }
        await database.close()
        try FileManager.default.removeItem(atPath: folder.file("test.db"))
        try FileManager.default.moveItem(atPath: folder.file("backup"), toPath: folder.file("test.db"))
        for n in 1..<3 {
            let restored = try open(in: folder)
            #expect(try await count(restored) == n)
            try await Change.logged.write(n, to: restored)
            await restored.close()
        }
    }

    @Test(
        "a log that is lost after a restore, or after an upgrade to this record, is noticed", arguments: [true, false])
    func newRecord(isRestored: Bool) async throws {
        let folder = TemporaryFolder()
        let path = folder.file("test.db")
        var database = try open(in: folder)
        try await Change.logged.write(0, to: database)
        if isRestored {
            let file = try DatabaseFile(existing: path)
            try file.copy(to: folder.file("backup"))
            file.close()
        }
        await database.close()
        if isRestored {
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: folder.file("backup"), toPath: path)
        } else {
            try FileManager.default.removeItem(atPath: folder.file("test.db-acknowledged"))
        }
        database = try open(in: folder)
        try await Change.logged.write(1, to: database)
        let left = try folder.copyAsAfterACrash()
        await database.close()
        try Damage.noLog.apply(in: left)
        #expect(throws: StorageError.self) { try open(in: left) }
    }

    @Test("two processes that share a database count together")
    func together() async throws {
        let folder = TemporaryFolder()
        let databases = [try open(in: folder), try open(in: folder)]
        for n in 0..<Self.writes { try await Change.allCases[n / 2 % 2].write(n, to: databases[n % 2]) }
        let left = try folder.copyAsAfterACrash()
        for database in databases { await database.close() }
        #expect(try await count(try open(in: try left.copyAsAfterACrash())) == Self.writes)
        try Damage.end.apply(in: left)
        #expect(throws: StorageError.self) { try open(in: left) }
    }

    @Test("damage that a read meets names the file, and stays in the statistics")
    func damagedPage() async throws {
        let folder = TemporaryFolder()
        var database = try open(in: folder)
        for n in 0..<2000 where n.isMultiple(of: 500) {
            try await database.write { connection in
                for n in n..<n + 500 { try connection.execute("INSERT INTO items VALUES ($1, $2)", "item", n) }
            }
        }
        await database.close()
        let path = folder.file("test.db")
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        // The pages of the rows are behind those of the schema.
        bytes.replaceSubrange(bytes.count - 4096..<bytes.count, with: Data(repeating: 0xA5, count: 4096))
        try bytes.write(to: URL(fileURLWithPath: path))
        database = try open(in: folder)
        #expect(database.statistics.damage == nil)
        let damaged = database
        let error = await #expect(throws: StorageError.self) { try await count(damaged) }
        #expect(error?.description.contains("test.db is damaged: ") == true)
        #expect(database.statistics.damage == error?.description)
        await database.close()
    }
}
