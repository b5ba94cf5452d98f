import ParlorContracts
import ParlorEventLog
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorPush

@Suite("Following messaging's log")
struct FollowingTests {
    @Test("messages from before push first started cause no notification; later ones do, page after page")
    func start() async throws {
        try await PushHarness.serving { harness in
            _ = harness.send("before")
            _ = try await harness.register("token")
            try await harness.follow()
            #expect(try await harness.jobs().all == 0)
            for number in 1...8 { _ = harness.send("message \(number)") }
            try await harness.follow()
            #expect(try await harness.jobs() == JobCounts(held: 8, oldest: harness.clock.now()))
            try await harness.follow()
            #expect(try await harness.jobs().all == 8, "each once")
        }
    }

    @Test("the first device is notified of messages sent before push first reads the log")
    func firstDevice() async throws {
        try await PushHarness.serving { harness in
            _ = harness.send("before")
            _ = try await harness.register("token")
            _ = harness.send("after")
            try await harness.follow()
            #expect(try await harness.jobs().held == 1)
        }
    }

    @Test("no device is registered until the log's head is known")
    func unknownEnd() async throws {
        try await PushHarness.serving { harness in
            harness.isMessagingDown = true
            let device = #"{"token": "token", "platform": "ios", "environment": "production"}"#
            #expect(
                try await harness.refusal("push.register", by: PushHarness.ben, json: device)?.code
                    == .serviceUnavailable)
            harness.isMessagingDown = false
            let first = try await harness.register("token")
            harness.isMessagingDown = true
            let second = try await harness.register("other")
            #expect(first == .created && second == .created)
        }
    }

    @Test(
        "the first registration asks within its own deadline, and later ones ask nobody once there is a cursor")
    func firstRequest() async throws {
        try await PushHarness.serving { harness in
            let bus = InProcessBus()
            let asked = Collector<BusContext>()
            try bus.respond(to: Subject.logPage(of: .messaging), queue: "messaging") { request in
                asked.add(request.context)
                let head = LogPosition(databaseID: "d", seq: 0, digest: 0)
                request.reply(LogPage.Payload(LogPage(head: head, oldest: 1, isKnown: true, entries: [], through: 0)))
            }
            let own = harness.serviceHarness.context
            let context = ServiceContext(
                configuration: own.configuration, database: own.database, bus: bus, workers: own.workers,
                dataDirectory: own.dataDirectory)
            let reader = DurableFollower(
                .messaging, for: PushService.self, context, harness.service.reader.consumer)
            let request = BusContext(requestID: "request", timeout: .seconds(60), trace: "trace", isRepeatable: true)
            try await reader.beginIfNew(request)
            let question = try #require(asked.items.first)
            #expect(question.requestID == "request" && question.trace == "trace")
            #expect(question.timeout > BusContext.defaultTimeout && question.timeout <= .seconds(60))
            // Nothing else removes it, so a lookup would find none, and ask.
            try await harness.database.write { _ = try $0.execute("DELETE FROM log_positions") }
            try await reader.beginIfNew(request)
            #expect(asked.items.count == 1)
        }
    }

    @Test("a job that is made again after a power cut has the same id, and each device and person another one")
    func sameIDs() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            for token in ["a", "b"] { _ = try await harness.register(token) }
            _ = try await harness.register("c", by: PushHarness.eve)
            // What is on the disk: the writes of the cursor and of the jobs do not wait for it.
            let start = harness.position.withLock { $0 }
            let cursor = try await Self.cursor(harness)
            _ = harness.send(to: [PushHarness.ben, PushHarness.eve])
            try await harness.follow()
            let first = try await Self.ids(harness)
            try await harness.database.write { connection in
                try connection.execute("DELETE FROM jobs")
                try connection.execute("UPDATE log_positions SET seq = $1, digest = $2", cursor.seq, cursor.digest)
            }
            harness.position.withLock { $0 = start }
            try await harness.follow()
            #expect(try await Self.ids(harness) == first)
            #expect(Set(first).count == 3)
        }
    }

    private static func cursor(_ harness: PushHarness) async throws -> (seq: Int, digest: Int) {
        let found = try await harness.database.read { connection in
            try connection.first("SELECT seq, digest FROM log_positions") { ($0.int(0), $0.int(1)) }
        }
        return try #require(found)
    }

    private static func ids(_ harness: PushHarness) async throws -> [String] {
        try await harness.database.read { try $0.all("SELECT id FROM jobs ORDER BY id") { $0.text(0) } }
    }

    @Test("each device of everyone in the room gets a job, except the sender's")
    func recipients() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            for (token, person) in [
                ("a", PushHarness.ada), ("b1", PushHarness.ben), ("b2", PushHarness.ben), ("e", PushHarness.eve),
            ] {
                _ = try await harness.register(token, by: person)
            }
            _ = harness.send(from: PushHarness.ada, to: [PushHarness.ben, PushHarness.eve, "nobody's"])
            try await harness.follow()
            #expect(try await harness.jobs().held == 3)
        }
    }

    @Test("a message and its reading make a job each for the reader's device")
    func facts() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("a", by: PushHarness.ada)
            _ = try await harness.register("b", by: PushHarness.ben)
            let id = harness.send(from: PushHarness.ada, to: [PushHarness.ben])
            harness.read(id)
            try await harness.follow()
            let jobs = try await harness.database.read { connection in
                try connection.all("SELECT token, user_id, message_id, sender_name FROM jobs") {
                    [$0.text(0), $0.text(1), $0.text(2), $0.text(3)]
                }
            }
            #expect(Set(jobs) == [["b", "ben", id, "ADA"], ["b", "ben", "", ""]] && jobs.count == 2)
        }
    }

    @Test("two instances on one database make one job for a message")
    func sideBySide() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            let (one, other) = (harness.service.reader, harness.service.reader)
            let position = try await one.only.step(from: nil).0
            for _ in 1...3 { _ = harness.send() }
            _ = try await one.only.step(from: position)
            _ = try await other.only.step(from: position)
            #expect(try await harness.jobs().held == 3)
        }
    }

    @Test("a position without relevant entries is not written each time, and nothing is lost by that")
    func unwritten() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = harness.send()
            let position = try await harness.service.reader.only.step(from: nil).0
            #expect(position.seq == 1)
            #expect(try await storedSeq(harness) == 0)
            _ = try await harness.register("token")
            _ = harness.send()
            _ = try await harness.service.reader.only.step(from: position)
            #expect(try await harness.jobs().held == 1)
        }
    }

    @Test("the log is not read while nobody has a device; the first device is notified of all that follows it")
    func nobody() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            for _ in 1...5 { _ = harness.send() }
            let (position, isBehind) = try await harness.service.reader.only.step(from: nil)
            #expect(position.seq == 5 && !isBehind)
            #expect(harness.messaging.emittedEntries == 0)
            _ = try await harness.register("token")
            _ = harness.send()
            _ = try await harness.service.reader.only.step(from: position)
            #expect(try await harness.jobs().held == 1)
            #expect(harness.messaging.emittedEntries == 1, "and nothing of before")
        }
    }

    private func storedSeq(_ harness: PushHarness) async throws -> Int? {
        try await harness.database.read { try LogPositionsStore($0).position(in: .messaging)?.seq }
    }

    @Test("a position is saved at intervals, and never goes back")
    func keeping() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            for _ in 1...2 { _ = harness.send() }
            let position = try await harness.service.reader.only.step(from: nil).0
            try await harness.service.reader.only.store(position)
            #expect(try await storedSeq(harness) == 2)
            try await harness.service.reader.only.store(
                LogPosition(databaseID: position.databaseID, seq: 1, digest: position.digest))
            #expect(try await storedSeq(harness) == 2)
        }
    }

    @Test("a log that no longer has the position, as a quiet one after a day, is followed from its oldest entry")
    func pruned() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.register("token")
            try await harness.follow()
            for _ in 1...5 { _ = harness.send() }
            harness.forgetLog(before: 3)
            try await harness.follow()
            #expect(try await harness.jobs().held == 3)
        }
    }

    @Test("another log is followed from its head on")
    func restart() async throws {
        try await PushHarness.serving { harness in
            _ = try await harness.register("token")
            try await harness.follow()
            for _ in 1...5 { _ = harness.send() }
            harness.replaceMessaging()
            try await harness.follow()
            #expect(try await harness.jobs().all == 0)
            _ = harness.send()
            try await harness.follow()
            #expect(try await harness.jobs().held == 1)
        }
    }

    @Test("reading makes one silent job for each device, however much is read before it is sent")
    func reading() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            for token in ["b1", "b2"] { _ = try await harness.register(token) }
            let ids = (1...3).map { _ in harness.send() }
            for id in ids { harness.read(id) }
            try await harness.follow()
            #expect(try await harness.jobs().held == 3 * 2 + 2)
        }
    }

    @Test("an instance that cannot reach messaging reports it and continues at its position")
    func failing() async throws {
        try await PushHarness.serving { harness in
            try await harness.follow()
            _ = try await harness.register("token")
            _ = harness.send()
            harness.isMessagingDown = true
            await #expect(throws: ServiceError.self) { try await harness.follow() }
            harness.isMessagingDown = false
            try await harness.follow()
            #expect(try await harness.jobs().held == 1)
        }
    }
}
