import ParlorContracts
import ParlorEventLog
import ParlorMessaging
import ParlorStorage
import ParlorTestSupport
import Testing

/// What changes for messages if the rooms are spread over several logs.
@Suite("Messages in several logs", .enabled(if: Engine.isPostgresWanted), .timeLimit(.minutes(2)))
struct SeveralLogsTests {
    private static let layout = LogLayout(generation: 1, count: 4)

    private static func serving(_ body: (MessagingHarness) async throws -> Void) async throws {
        var configuration = DatabaseConfiguration()
        configuration.logCount = layout.count
        configuration.idleTimeoutMilliseconds = 60_000
        let database = try PostgresDatabase(
            PostgresServer.url(), schema: PostgresServer.newSchema(), migrations: MessagingService.migrations,
            configuration: configuration)
        try await MessagingHarness.serving(on: database, body)
        await database.close()
    }

    @Test("rooms that are new in all logs at once get numbers of their own, and replies name the rooms' logs")
    func newRooms() async throws {
        try await Self.serving { harness in
            let rooms = (0..<40).map { harness.rooms.make("room \($0)", "alice", "bob") }
            let positions = try await withThrowingTaskGroup(of: (String, EntryPosition?).self) { group in
                for (index, room) in (rooms + rooms).enumerated() {
                    group.addTask {
                        (room, try await harness.send(by: "alice", in: room, tempID: "\(index)").position)
                    }
                }
                return try await group.reduce(into: [(String, EntryPosition?)]()) { $0.append($1) }
            }
            for (room, position) in positions {
                #expect(position?.log == LogID("messaging", Self.layout.number(ofRoom: room)))
            }
            let numbers = try await harness.database.read { connection in
                try connection.all("SELECT number FROM chats") { $0.int(0) }
            }
            #expect(numbers.count == 40 && Set(numbers).count == 40)
            for room in rooms { #expect(try await harness.unread(of: "bob", in: room) == 2) }
            let heads = try await EventLogs(harness.database).heads()
            #expect(heads.values.reduce(0) { $0 + $1.seq } == 80 && heads.values.allSatisfy { $0.seq > 0 })
        }
    }

    @Test("reading, deleting and a retry name the room's log, and its text is removed from that log")
    func changes() async throws {
        try await Self.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let log = Self.layout.number(ofRoom: room)
            let id = try await harness.sent(by: "alice", in: room)
            _ = try await harness.read([id], by: "bob", in: room)
            _ = try await harness.send(by: "alice", in: room, tempID: "one")
            let again = try await harness.send(by: "alice", in: room, tempID: "one")
            #expect(again.isDuplicate && again.position == EntryPosition(log: LogID("messaging", log), seq: 3))
            _ = try await harness.delete(id, by: "alice", in: room)
            let entries = try await EventLog(harness.database, log: log).entries(since: 0, limit: 9)
            #expect(entries.map(\.seq) == [1, 2, 3, 4] && entries[0].emissions.isEmpty)
            #expect(try await harness.entries().isEmpty, "the only log of another layout")
        }
    }

    @Test("a server that has lost the newest entries of two logs announces all heads, and the logs go on from there")
    func lostEntries() async throws {
        try await Self.serving { harness in
            let announced = Collector<[Int: Int]>()
            try harness.bus.subscribe(Subject.announcements, queue: nil) { message in
                guard let heads = message.data.object.flatMap([Int: LogPosition].init) else { return }
                announced.add(heads.mapValues(\.seq))
            }
            let rooms = (0..<16).map { harness.rooms.make("room \($0)", "alice", "bob") }
            for room in rooms { _ = try await harness.send(by: "alice", in: room) }
            var expected = try await EventLogs(harness.database).heads().mapValues(\.seq)
            for log in [101, 103] {
                let keys = LogKeys(log)
                try await harness.database.write(in: log) {
                    try $0.execute(
                        """
                        DELETE FROM events WHERE seq = (SELECT max(seq) FROM events WHERE seq > $1 AND seq < $2)
                        """, keys.start, keys.end)
                }
                expected[log]? -= 1
            }
            while announced.items.last != expected { await Task.yield() }
            #expect(harness.log.lines.count { $0.contains("has lost its newest entries") } == 2)
            for room in rooms {
                let log = Self.layout.number(ofRoom: room)
                expected[log]? += 1
                #expect(try await harness.send(by: "alice", in: room).position?.seq == expected[log])
            }
        }
    }
}
