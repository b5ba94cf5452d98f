import Foundation
import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("Ids in their short form")
struct ShortIDTests {
    private static let uuids = [
        "00000000-0000-0000-0000-000000000000", "0191f0a2-7c3b-7d4e-8f90-0123456789ab",
        "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "ffffffff-ffff-ffff-ffff-ffffffffffff",
    ]
    private static let others = [
        "", "x", "fifteen letters", "sixteen  letters", "seventeen letters", "0191F0A2-7c3b-7d4e-8f90-0123456789ab",
        "0191f0a2-7c3b-7d4e-8f90-0123456789a-", "0191f0a2-7c3b-7d4e-8f90-0123456789ab0", "caf\u{e9}", "cafe\u{301}",
        "0191f0a27c3b7d4e8f900123456789ab", "\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}\u{1}",
        "----------------------------------0a", "sixteen letters\u{1}", "sixteen  letters\u{1}",
    ]
    private let folder = TemporaryFolder()

    @Test("each is read as it was stored, and found by itself and in a list", arguments: Engine.allCases)
    func forms(engine: Engine) async throws {
        let database = try engine.open("CREATE TABLE items (id BLOB PRIMARY KEY, n INTEGER)", in: folder)
        let ids = Self.uuids + Self.others
        try await database.write { connection in
            for (n, id) in ids.enumerated() {
                try connection.execute("INSERT INTO items (id, n) VALUES ($1, $2)", SQLValue.id(id), n)
            }
        }
        try await database.read { connection in
            let stored = try connection.all("SELECT id FROM items ORDER BY n") { $0.id(0) }
            #expect(stored.map { Array($0.utf8) } == ids.map { Array($0.utf8) })
            for (n, id) in ids.enumerated() {
                let found = try connection.first("SELECT n FROM items WHERE id = $1", SQLValue.id(id)) { $0.int(0) }
                #expect(found == n)
            }
            for some in [ids, Array(ids.prefix(1)), [], ["none"]] {
                let found = try connection.all(
                    "SELECT n FROM items WHERE id IN (SELECT unhex(value) FROM json_each($1)) ORDER BY n",
                    SQLValue.ids(some)
                ) { $0.int(0) }
                #expect(found == (some == ["none"] ? [] : Array(some.indices)))
            }
        }
        await database.close()
    }

    @Test("a UUID takes 16 bytes, one in upper case 17", arguments: zip(uuids, [16, 16, 17, 16]))
    func lengths(id: String, length: Int) {
        guard case .bytes(let bytes) = SQLValue.id(id) else { return #expect(Bool(false), "bytes") }
        #expect(bytes.count == length)
    }

    @Test("UUIDs are ordered as their texts are", arguments: Engine.allCases)
    func order(engine: Engine) async throws {
        let database = try engine.open("CREATE TABLE items (id BLOB PRIMARY KEY)", in: folder)
        let ids = (0..<50).map { _ in UUID().uuidString.lowercased() }
        try await database.write { connection in
            for id in ids { try connection.execute("INSERT INTO items (id) VALUES ($1)", SQLValue.id(id)) }
        }
        #expect(
            try await database.read { try $0.all("SELECT id FROM items ORDER BY id") { $0.id(0) } } == ids.sorted())
        await database.close()
    }
}
