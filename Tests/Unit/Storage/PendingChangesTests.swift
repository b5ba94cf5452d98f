import ParlorStorage
import ParlorTestSupport
import Testing

@Suite("Pending changes of a transaction")
struct PendingChangesTests {
    private let folder = TemporaryFolder()

    private struct Refused: Error {}

    /// Adds to `items.n`, and to that of the item "times" for each time that something is written.
    private final class Additions: PendingChanges {
        private var sums: [String: Int] = ["times": 1]

        func add(to id: String) { sums[id, default: 0] += 1 }

        func write(on connection: any Connection) throws(StorageError) {
            for (id, sum) in sums {
                try connection.execute(
                    """
                    INSERT INTO items (id, n) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET n = items.n + $2
                    """, id, sum)
            }
        }
    }

    private static func sum(of id: String, on connection: any Connection) throws -> Int {
        try connection.first("SELECT n FROM items WHERE id = $1", id) { $0.int(0) } ?? 0
    }

    /// Returns the results of these writes, which share a batch.
    private func together<T: Sendable>(
        _ bodies: [@Sendable (any Connection) throws -> T], on database: any Database
    ) async throws -> [Result<T, any Error>] {
        let gate = DatabaseGate()
        let blocked = await database.close(gate)
        let writes = bodies.map { body in Task.immediate { try await database.write { try body($0) } } }
        try gate.open()
        try await blocked.value
        var results: [Result<T, any Error>] = []
        for write in writes { results.append(await write.result) }
        return results
    }

    @Test("the sum is written once, and is there when the writes return", arguments: Engine.allCases)
    func once(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let results = try await together(
            (0..<50).map { n in { $0.pending(Additions.self).add(to: n.isMultiple(of: 2) ? "even" : "odd") } },
            on: database)
        for result in results { try result.get() }
        let sums = try await database.read { connection in
            try ["even", "odd", "times"].map { try Self.sum(of: $0, on: connection) }
        }
        #expect(sums == [25, 25, 1])
        await database.close()
    }

    @Test("a write that reads the rows finds the changes before it", arguments: Engine.allCases)
    func readWithin(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let results = try await together(
            (1...6).map { n in
                { connection in
                    guard n.isMultiple(of: 3) else {
                        connection.pending(Additions.self).add(to: "item")
                        return 0
                    }
                    try connection.writePending()
                    return try Self.sum(of: "item", on: connection)
                }
            }, on: database)
        #expect(try results.map { try $0.get() } == [0, 0, 2, 0, 0, 4])
        await database.close()
    }

    @Test("a failed write adds nothing, and the others add all", arguments: Engine.allCases)
    func undone(engine: Engine) async throws {
        let database = try engine.open(in: folder)
        let results = try await together(
            (0..<20).map { n in
                { connection in
                    connection.pending(Additions.self).add(to: "item")
                    if n.isMultiple(of: 4) { throw Refused() }
                }
            }, on: database)
        #expect(results.map { (try? $0.get()) != nil } == (0..<20).map { !$0.isMultiple(of: 4) })
        #expect(try await database.read { try Self.sum(of: "item", on: $0) } == 15)
        await database.close()
    }

    enum Met: CaseIterable {
        case atTheCommit, byItself, byTheNextWhichThrows
    }

    @Test(
        "an unwritable change fails its own write, whichever write meets it, and no other",
        arguments: Engine.allCases, Met.allCases)
    func unwritable(engine: Engine, met: Met) async throws {
        let database = try engine.open(in: folder)
        let results = try await together(
            (0..<5).map { n in
                { connection in
                    if met == .byTheNextWhichThrows, n == 3 {
                        try? connection.writePending()
                        throw Refused()
                    }
                    connection.pending(Additions.self).add(to: n == 2 ? "\0" : "item")
                    if met == .byItself, n == 2 { try? connection.writePending() }
                }
            }, on: database)
        let isRefused = met == .byTheNextWhichThrows
        #expect(results.map { (try? $0.get()) != nil } == [true, true, false, !isRefused, true])
        #expect(throws: StorageError.unstorableText) { try results[2].get() }
        #expect(try await database.read { try Self.sum(of: "item", on: $0) } == (isRefused ? 3 : 4))
        await database.close()
    }
}
