import ParlorContracts
import ParlorEventLog
import ParlorMessaging
import ParlorStorage
import ParlorTestSupport
import Testing

/// What sends cost, and survive, between the service and a PostgreSQL server.
@Suite("Sending on PostgreSQL", .enabled(if: Engine.isPostgresWanted), .timeLimit(.minutes(5)))
struct SendingOnPostgresTests {
    private static func serving(
        _ schema: String = PostgresServer.newSchema(), _ body: (MessagingHarness, PostgresProxy) async throws -> Void
    ) async throws {
        let proxy = try PostgresProxy()
        let database = try PostgresDatabase(
            proxy.url(), schema: schema, migrations: MessagingService.migrations)
        try await MessagingHarness.serving(on: database) { try await body($0, proxy) }
        await database.close()
    }

    /// Makes these calls while the writer waits, so that they share a commit, and lets it go on.
    private func together(
        _ calls: [@Sendable () async throws -> Void], _ harness: MessagingHarness
    ) async throws {
        let gate = DatabaseGate()
        let held = await harness.database.close(gate)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for call in calls { group.addTask { try await call() } }
            while harness.database.statistics.queuedWrites < calls.count { await Task.yield() }
            try gate.open()
            try await group.waitForAll()
        }
        try await held.value
    }

    @Test("a send takes two round trips, and so do 128 in 32 rooms")
    func roundTrips() async throws {
        try await Self.serving { harness, proxy in
            let rooms = (0..<32).map { harness.rooms.make("room \($0)", "alice", "bob") }
            let id = try await harness.sent(by: "alice", in: rooms[0])
            // The pruning of the log at the start is a write, too.
            while harness.database.statistics.writes < 2 { await Task.yield() }
            _ = proxy.takeRoundTrips()
            _ = try await harness.send(by: "alice", in: rooms[0], tempID: "one")
            #expect(proxy.takeRoundTrips().ofWrites == 2)
            try await together(
                (0..<128).map { number in
                    { _ = try await harness.send(by: "alice", in: rooms[number % 32], tempID: "\(number)") }
                }, harness)
            // The write that held the others has no statement, and one round trip.
            #expect(proxy.takeRoundTrips().ofWrites == 2 + 1)
            _ = try await harness.read([id], by: "bob", in: rooms[0])
            #expect(proxy.takeRoundTrips().ofWrites == 3, "the loads, the receipts, the commit")
        }
    }

    @Test("a connection cut at any byte of a send stores the message once, under one number")
    func cuts() async throws {
        try await Self.serving { harness, proxy in
            let room = harness.rooms.make("room", "alice", "bob")
            func send(_ tempID: String) async throws {
                while true {
                    do {
                        _ = try await harness.send(by: "alice", in: room, tempID: tempID)
                        return
                    } catch let error as ServiceError where error.code.isRetryable {}
                }
            }
            // Statements are prepared in the first one.
            try await send("first")
            _ = proxy.takePassed()
            try await send("second")
            let length = proxy.takePassed()
            for bytes in 0..<length {
                proxy.cut(after: bytes)
                try await send("\(bytes)")
            }
            let sends = length + 2
            let (messages, entries) = try await harness.database.read { connection in
                (
                    try connection.all("SELECT seq FROM messages ORDER BY seq") { $0.int(0) },
                    try EventLog(harness.database).entries(since: 0, limit: sends + 1, on: connection).entries.map(
                        \.seq)
                )
            }
            #expect(messages == Array(1...sends) && entries == Array(1...sends))
            #expect(try await harness.unread(of: "bob", in: room) == sends)
        }
    }

    @Test("a `tempId` that comes twice in a commit, from two instances, or again after a deletion, sends once")
    func attempts() async throws {
        let schema = PostgresServer.newSchema()
        try await Self.serving(schema) { harness, _ in
            let room = harness.rooms.make("room", "alice", "bob")
            try await together(
                (0..<64).map { number in
                    { _ = try await harness.send("\(number)", by: "alice", in: room, tempID: "\(number / 2)") }
                }, harness)
            #expect(try await harness.unread(of: "bob", in: room) == 32)
            let first = try #require(try await harness.send(by: "alice", in: room, tempID: "0").data["id"]?.string)
            _ = try await harness.delete(first, by: "alice", in: room)
            try await harness.expect(.messageNotFound) { try await harness.send(by: "alice", in: room, tempID: "0") }
            #expect(try await harness.unread(of: "bob", in: room) == 31)
            try await Self.serving(schema) { other, _ in
                _ = other.rooms.make("room", "alice", "bob")
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<64 {
                        for instance in [harness, other] {
                            group.addTask {
                                _ = try await instance.send(by: "alice", in: room, tempID: "both \(number)")
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            #expect(try await harness.unread(of: "bob", in: room) == 31 + 64)
        }
    }
}
