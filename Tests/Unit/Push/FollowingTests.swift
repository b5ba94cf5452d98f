import Contracts
import EventLog
import MessageBus
import ServiceKit
import Storage
import TestSupport
import Testing

@testable import Push

@Suite("Following messaging's log")
struct FollowingTests {
    @Test("what was sent before push first started is nobody's news; what comes after is, page after page")
    func start() async throws {
        try await PushWorld.serving { world in
            _ = world.send("before")
            _ = try await world.register("token")
            try await world.follow()
            #expect(try await world.jobs().all == 0)
            for number in 1...8 { _ = world.send("message \(number)") }
            try await world.follow()
            #expect(try await world.jobs() == JobCounts(held: 8, oldest: world.clock.now()))
            try await world.follow()
            #expect(try await world.jobs().all == 8, "each once")
        }
    }

    @Test("the first device hears of what is sent before push has come to its first look at the log")
    func firstDevice() async throws {
        try await PushWorld.serving { world in
            _ = world.send("before")
            _ = try await world.register("token")
            _ = world.send("after")
            try await world.follow()
            #expect(try await world.jobs().held == 1)
        }
    }

    @Test("until it is known where the log ends, no device is taken")
    func unknownEnd() async throws {
        try await PushWorld.serving { world in
            world.isMessagingAway = true
            let device = #"{"token": "token", "platform": "ios", "environment": "production"}"#
            #expect(
                try await world.refusal("push.register", by: PushWorld.ben, json: device)?.code == .serviceUnavailable)
            world.isMessagingAway = false
            let first = try await world.register("token")
            world.isMessagingAway = true
            let second = try await world.register("other")
            #expect(first == .created && second == .created)
        }
    }

    @Test(
        "the first registration asks as its request does, and once it is known that there is a cursor nobody is asked")
    func firstQuestion() async throws {
        try await PushWorld.serving { world in
            let bus = InProcessBus()
            let asked = Collector<BusContext>()
            try bus.respond(to: Subject.logPage(of: LogReader.stream), queue: "messaging") { request in
                asked.add(request.context)
                let head = LogPosition(databaseID: "d", seq: 0, digest: 0)
                request.reply(LogPage.Answer(LogPage(head: head, oldest: 1, isKnown: true, entries: [], through: 0)))
            }
            let own = world.service.reader
            let reader = LogReader(
                database: own.database, bus: bus, log: own.log, metrics: own.metrics, plan: own.plan, onJobs: {})
            let context = BusContext(requestID: "request", timeout: .seconds(60), trace: "trace", isQuestion: true)
            try await reader.startIfNew(context)
            let question = try #require(asked.items.first)
            #expect(question.requestID == "request" && question.trace == "trace")
            #expect(question.timeout > BusContext.defaultTimeout && question.timeout <= .seconds(60))
            // Nothing else removes it: so whoever looked would find none, and ask.
            try await world.database.write { _ = try $0.execute("DELETE FROM cursors") }
            try await reader.startIfNew(context)
            #expect(asked.items.count == 1)
        }
    }

    @Test("each device of everyone in the room has a job, but for the sender's")
    func whom() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            for (token, person) in [
                ("a", PushWorld.ada), ("b1", PushWorld.ben), ("b2", PushWorld.ben), ("e", PushWorld.eve),
            ] {
                _ = try await world.register(token, by: person)
            }
            _ = world.send(from: PushWorld.ada, to: [PushWorld.ben, PushWorld.eve, "nobody's"])
            try await world.follow()
            #expect(try await world.jobs().held == 3)
        }
    }

    @Test("entries of an older messaging, which have no facts, make the same jobs")
    func withoutFacts() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("a", by: PushWorld.ada)
            _ = try await world.register("b", by: PushWorld.ben)
            for _ in 1...2 {
                let id = world.send(from: PushWorld.ada, to: [PushWorld.ben])
                world.read(id)
                try await world.follow()
                // Taken away, as two silent jobs of one device would be one.
                let jobs = try await world.database.write { connection in
                    try connection.all("DELETE FROM jobs RETURNING token, user_id, message_id, sender_name") {
                        [$0.text(0), $0.text(1), $0.text(2), $0.text(3)]
                    }
                }
                #expect(Set(jobs) == [["b", "ben", id, "ADA"], ["b", "ben", "", ""]] && jobs.count == 2)
                world.messaging.forgetFacts()
            }
        }
    }

    @Test("two instances on one database make one job of a message")
    func sideBySide() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            let (one, other) = (world.service.reader, world.service.reader)
            let position = try await one.step(from: nil).0
            for _ in 1...3 { _ = world.send() }
            _ = try await one.step(from: position)
            _ = try await other.step(from: position)
            #expect(try await world.jobs().held == 3)
        }
    }

    @Test("a cursor that finds nothing of interest is not written each time, and nothing is lost for that")
    func unwritten() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = world.send()
            let position = try await world.service.reader.step(from: nil).0
            #expect(position.seq == 1)
            #expect(try await storedSeq(world) == 0)
            _ = try await world.register("token")
            _ = world.send()
            _ = try await world.service.reader.step(from: position)
            #expect(try await world.jobs().held == 1)
        }
    }

    @Test("while nobody has a device the log is not read; the first device hears of all that comes after it")
    func nobody() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            for _ in 1...5 { _ = world.send() }
            let (position, isBehind) = try await world.service.reader.step(from: nil)
            #expect(position.seq == 5 && !isBehind)
            #expect(world.messaging.toldEntries == 0)
            _ = try await world.register("token")
            _ = world.send()
            _ = try await world.service.reader.step(from: position)
            #expect(try await world.jobs().held == 1)
            #expect(world.messaging.toldEntries == 1, "and nothing of before")
        }
    }

    private func storedSeq(_ world: PushWorld) async throws -> Int? {
        try await world.database.read { try CursorsStore($0).cursor(of: LogReader.stream)?.seq }
    }

    @Test("a cursor is kept now and then, and never goes back")
    func keeping() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            for _ in 1...2 { _ = world.send() }
            let position = try await world.service.reader.step(from: nil).0
            try await world.service.reader.keep(position)
            #expect(try await storedSeq(world) == 2)
            try await world.service.reader.keep(
                LogPosition(databaseID: position.databaseID, seq: 1, digest: position.digest))
            #expect(try await storedSeq(world) == 2)
        }
    }

    @Test("a log that has forgotten the place, as a quiet one does after a day, is followed from what it has left")
    func pruned() async throws {
        try await PushWorld.serving { world in
            _ = try await world.register("token")
            try await world.follow()
            for _ in 1...5 { _ = world.send() }
            world.forgetLog(before: 3)
            try await world.follow()
            #expect(try await world.jobs().held == 3)
        }
    }

    @Test("another log is followed from its head on")
    func restart() async throws {
        try await PushWorld.serving { world in
            _ = try await world.register("token")
            try await world.follow()
            for _ in 1...5 { _ = world.send() }
            world.replaceMessaging()
            try await world.follow()
            #expect(try await world.jobs().all == 0)
            _ = world.send()
            try await world.follow()
            #expect(try await world.jobs().held == 1)
        }
    }

    @Test("reading makes one silent job for each device, however much is read before it is sent")
    func reading() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            for token in ["b1", "b2"] { _ = try await world.register(token) }
            let ids = (1...3).map { _ in world.send() }
            for id in ids { world.read(id) }
            try await world.follow()
            #expect(try await world.jobs().held == 3 * 2 + 2)
        }
    }

    @Test("an instance that cannot ask messaging says so and goes on where it was")
    func failing() async throws {
        try await PushWorld.serving { world in
            try await world.follow()
            _ = try await world.register("token")
            _ = world.send()
            world.isMessagingAway = true
            await #expect(throws: ServiceError.self) { try await world.follow() }
            world.isMessagingAway = false
            try await world.follow()
            #expect(try await world.jobs().held == 1)
        }
    }
}
