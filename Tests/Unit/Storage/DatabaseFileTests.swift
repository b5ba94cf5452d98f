import Foundation
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("A database file beside the program that serves it")
struct DatabaseFileTests {
    private let folder = TemporaryFolder()
    private static let items = Migration(
        version: 1, name: "items", sql: "CREATE TABLE items (id TEXT PRIMARY KEY, n INTEGER)")

    private func open(_ name: String = "test.db") throws -> SQLiteDatabase {
        try SQLiteDatabase(.file(folder.file(name)), migrations: [Self.items])
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }

    @Test("a copy holds one moment's rows, however busy the writer is, and no log file lies beside it")
    func copy() async throws {
        let database = try open()
        try await database.insert("before")
        let writing = Task {
            var n = 0
            while !Task.isCancelled {
                // Two rows in each commit: a copy from between two moments would have one of a pair.
                try await database.write { [n] connection in
                    for half in ["a", "b"] {
                        try connection.execute("INSERT INTO items (id, n) VALUES ($1, $2)", "\(n)\(half)", n)
                    }
                }
                n += 1
            }
        }
        for round in 0..<20 {
            let file = try DatabaseFile(existing: folder.file("test.db"))
            let acknowledged = try await database.ids().count
            try file.copy(to: folder.file("copy-\(round)"))
            file.close()
            #expect(try names().filter { $0.hasPrefix("copy-\(round)") } == ["copy-\(round)"])
            // Two bytes of 1 say that the file is not in write-ahead mode (SQLite's file format, 1.3.3).
            #expect(try Array(Data(contentsOf: URL(fileURLWithPath: folder.file("copy-\(round)")))[18...19]) == [1, 1])
            let copied = try open("copy-\(round)")
            let ids = try await copied.ids()
            #expect(ids.count >= acknowledged && ids.count % 2 == 1 && ids.contains("before"))
            await copied.close()
        }
        writing.cancel()
        try await writing.value
        await database.close()
    }

    @Test("a copy gets an identity of its own, another each time it is restored; the original keeps its own")
    func identity() async throws {
        let database = try open()
        try await database.insert("x")
        try DatabaseFile(existing: folder.file("test.db")).copy(to: folder.file("copy.db"))
        var ids = [database.databaseID]
        for round in 0..<3 {
            try FileManager.default.copyItem(
                atPath: folder.file("copy.db"), toPath: folder.file("restored-\(round).db"))
            for _ in 0..<2 {
                let restored = try open("restored-\(round).db")
                #expect(try await restored.ids() == ["x"])
                if ids.last != restored.databaseID { ids.append(restored.databaseID) }
                await restored.close()
            }
        }
        #expect(ids.count == 4 && Set(ids).count == 4)
        await database.close()
        #expect(try open().databaseID == database.databaseID)
    }

    @Test("only its owner can read a copy, and no existing file is overwritten")
    func target() async throws {
        let database = try open()
        let file = try DatabaseFile(existing: folder.file("test.db"))
        try file.copy(to: folder.file("copy.db"))
        let attributes = try FileManager.default.attributesOfItem(atPath: folder.file("copy.db"))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(throws: StorageError.self) { try file.copy(to: folder.file("copy.db")) }
        await database.close()
    }

    @Test("a damaged database is not copied as if it were intact")
    func damaged() async throws {
        let database = try open()
        for n in 0..<500 { try await database.insert("\(n)" + String(repeating: "x", count: 200)) }
        await database.close()
        let handle = try #require(FileHandle(forUpdatingAtPath: folder.file("test.db")))
        let size = try handle.seekToEnd()
        try handle.seek(toOffset: size / 2)
        try handle.write(contentsOf: Data(repeating: 0xA5, count: Int(size / 4)))
        try handle.close()
        let error = #expect(throws: StorageError.self) {
            try DatabaseFile(existing: folder.file("test.db")).copy(to: folder.file("copy.db"))
        }
        guard case .corrupt = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("a missing file is not created, and one that is not ours is reported")
    func notOurs() throws {
        #expect(throws: StorageError.self) { try DatabaseFile(existing: folder.file("none.db")) }
        try Data().write(to: URL(fileURLWithPath: folder.file("empty.db")))
        try Data(repeating: 65, count: 10_000).write(to: URL(fileURLWithPath: folder.file("text.db")))
        for name in ["empty.db", "text.db"] {
            let error = #expect(throws: StorageError.self) { try DatabaseFile(existing: folder.file(name)) }
            guard case .corrupt = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        #expect(try names() == ["empty.db", "text.db"])
    }

    @Test("its schema has to be the current one, and is never changed")
    func schema() async throws {
        let database = try open()
        let file = try DatabaseFile(existing: folder.file("test.db"))
        try file.requireSchema([Self.items])
        let more = Migration(version: 2, name: "more", sql: "CREATE TABLE more (id TEXT)")
        #expect(throws: MigrationError.databaseIsOlder(schema: "service", version: 1, known: 2)) {
            try file.requireSchema([Self.items, more])
        }
        #expect(throws: MigrationError.databaseIsNewer(schema: "service", version: 1, known: 0)) {
            try file.requireSchema([])
        }
        await database.close()
    }

    @Test("a write waits for its turn among the program's, is on disk when it returns, and throws without a trace")
    func write() async throws {
        struct Refused: Error {}
        let database = try open()
        let file = try DatabaseFile(existing: folder.file("test.db"))
        let writing = Task { for n in 0..<300 { try await database.insert("theirs \(n)") } }
        for n in 0..<20 {
            try file.write(in: 0) { connection in
                _ = try connection.execute("INSERT INTO items (id) VALUES ($1)", "ours \(n)")
            }
        }
        #expect(throws: Refused.self) {
            try file.write(in: 0) { connection in
                try connection.execute("INSERT INTO items (id) VALUES ('refused')")
                throw Refused()
            }
        }
        try await writing.value
        #expect(try await database.ids().count == 320)
        await database.close()
    }
}
