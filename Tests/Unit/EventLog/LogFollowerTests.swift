import Contracts
import EventLog
import JSON
import MessageBus
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("following a stream", .timeLimit(.minutes(1)))
struct LogFollowerTests {
    /// The owner of an event log, as far as followers see it. It publishes what a test says, and answers from all it has.
    private final class Owner: Sendable {
        struct Log {
            var databaseID = "first"
            /// Another one has other entries under the same numbers.
            var past = "one past"
            var seqs: [Int] = []
            /// It answers when the test says so.
            var holds = false
        }

        let bus = FakeBus()
        let asked = Collector<BusRequest>()
        let log = Mutex(Log())
        private let serving = Mutex<BusSubscription?>(nil)

        init() throws { try comeBack() }

        func goAway() { serving.withLock { $0?.cancel() } }

        func comeBack() throws {
            let subscription = try bus.respond(to: "notes.events", queue: "notes") { [unowned self] request in
                asked.add(request)
                if !log.withLock({ $0.holds }) { request.reply(answer(request)) }
            }
            serving.withLock { $0 = subscription }
        }

        func answer(_ request: BusRequest) -> JSONValue {
            let since = request.data["since"]?.int ?? 0
            let log = log.withLock { $0 }
            let entries = log.seqs.filter { $0 > since }.prefix(500).map { entry($0, of: log) }
            let known = log.seqs.contains(since) ? entry(since, of: log).digest : since == 0 ? 0 : -1
            let head = head
            let page = LogPage(
                head: head, oldest: log.seqs.first ?? 1,
                isKnown: request.data["digest"]?.int.map { $0 == known } ?? true,
                entries: entries, through: entries.last?.seq ?? max(since, head.seq))
            return Reply(.ok, page.json).json
        }

        func commit(_ seqs: ClosedRange<Int>) { log.withLock { $0.seqs += seqs } }

        func publish(_ seqs: Int...) throws {
            let log = log.withLock { $0 }
            for seq in seqs { try bus.publish("notes.log", entry(seq, of: log).json) }
        }

        var head: LogPosition {
            let log = log.withLock { $0 }
            return position(log.seqs.last ?? 0, of: log)
        }

        func position(_ seq: Int, of log: Log) -> LogPosition {
            seq == 0
                ? LogPosition(databaseID: log.databaseID, seq: 0, digest: 0)
                : LogPosition(after: entry(seq, of: log), in: log.databaseID)
        }

        private func entry(_ seq: Int, of log: Log) -> LogEntry {
            LogEntry(
                seq: seq, at: Timestamp(milliseconds: 0), roomID: log.databaseID, participants: [],
                emissionsJSON: JSONWriter.value { $0.array { $0.string(log.past) } })
        }
    }

    /// A follower on a loop of its own, and all that it has handed on.
    private struct World {
        let owner: Owner
        let group: EventLoopGroup
        let follower: LogFollower
        let given = Collector<LogEntry>()
        let starts = Collector<Int>()

        static func run(_ body: (World) async throws -> Void) async throws {
            let world = try World()
            try world.follower.start()
            var failure: (any Error)?
            do { try await body(world) } catch { failure = error }
            world.follower.stop()
            await world.settled()
            await finish(world.group)
            if let failure { throw failure }
        }

        /// With a follower that has started, at the end of an empty log.
        static func following(_ body: (World) async throws -> Void) async throws {
            try await run { world in
                world.announce()
                await world.settled()
                try await body(world)
            }
        }

        private init() throws {
            owner = try Owner()
            group = try EventLoopGroup(loopCount: 1)
            follower = LogFollower(
                "notes", bus: owner.bus, on: group.loops[0], log: .silent,
                deliver: { [given] in for entry in $0 { given.add(entry) } },
                onStart: { [starts] in starts.add($0.seq) })
        }

        func announce() {
            follower.announced(owner.head)
        }

        /// The first question, for entries that are committed now: the owner leaves it unanswered.
        func holdQuestion(committing seqs: ClosedRange<Int>) async throws -> BusRequest {
            owner.log.withLock { $0.holds = true }
            owner.commit(seqs)
            announce()
            return try #require(await owner.asked.first(1).first)
        }

        /// Returns when the loop has done all that it was given before.
        func settled() async {
            await withCheckedContinuation { continuation in group.loops[0].execute { continuation.resume() } }
        }
    }

    @Test("it starts where the owner stands, with what came before it was told")
    func starts() async throws {
        try await World.run { world in
            world.owner.commit(1...7)
            try world.owner.publish(5, 6, 7)
            world.follower.announced(world.owner.position(5, of: world.owner.log.withLock { $0 }))
            #expect(await world.given.first(2).map(\.seq) == [6, 7])
            #expect(world.starts.items == [5])
            #expect(world.owner.asked.items.isEmpty)
        }
    }

    @Test("entries in any order and repeated are handed on once and in order, without asking")
    func inOrder() async throws {
        try await World.following { world in
            world.owner.commit(1...6)
            try world.owner.publish(2, 1, 1, 2, 3, 5, 4, 6, 6)
            #expect(await world.given.first(6).map(\.seq) == Array(1...6))
            await world.settled()
            #expect(world.given.items.count == 6)
        }
    }

    @Test("a gap that stays open is fetched")
    func gap() async throws {
        try await World.following { world in
            world.owner.commit(1...4)
            try world.owner.publish(1, 4)
            #expect(await world.given.first(4).map(\.seq) == [1, 2, 3, 4])
            #expect(world.owner.asked.items.map { $0.data["since"]?.int } == [1])
        }
    }

    @Test("what an announcement says is there is fetched, page by page")
    func announcedHead() async throws {
        try await World.following { world in
            world.owner.commit(1...1200)
            world.announce()
            #expect(await world.given.first(1200).map(\.seq) == Array(1...1200))
            #expect(world.owner.asked.items.map { $0.data["since"]?.int } == [0, 500, 1000])
        }
    }

    @Test("more early entries than are kept are fetched, too")
    func flood() async throws {
        try await World.following { world in
            world.owner.commit(1...5000)
            for seq in 2...5000 { try world.owner.publish(seq) }
            #expect(await world.given.first(5000).map(\.seq) == Array(1...5000))
        }
    }

    @Test("an entry that somebody was told of is fetched if it does not come")
    func expected() async throws {
        try await World.following { world in
            world.owner.commit(1...1)
            world.follower.expect(1)
            #expect(await world.given.first(1).map(\.seq) == [1])
        }
    }

    @Test("what is expected while an older answer is on its way is asked for again")
    func expectedMeanwhile() async throws {
        try await World.following { world in
            let request = try await world.holdQuestion(committing: 1...1)
            let older = world.owner.answer(request)
            world.owner.commit(2...2)
            world.follower.expect(2)
            await world.settled()
            world.owner.log.withLock { $0.holds = false }
            request.reply(older)
            #expect(await world.given.first(2).map(\.seq) == [1, 2])
        }
    }

    @Test("an owner with another database is followed from its head, and nothing early is taken for its own")
    func anotherDatabase() async throws {
        try await World.following { world in
            world.owner.log.withLock { $0.holds = true }
            world.owner.commit(1...12)
            try world.owner.publish(12)
            let older = try #require(await world.owner.asked.first(1).first)
            let late = world.owner.answer(older)

            world.owner.log.withLock { $0 = Owner.Log(databaseID: "second", seqs: Array(1...10)) }
            world.announce()
            await world.settled()
            older.reply(late)
            world.owner.commit(11...13)
            try world.owner.publish(11, 12, 13)
            let given = await world.given.first(3)
            #expect(given.map(\.seq) == [11, 12, 13])
            #expect(given.allSatisfy { $0.roomID == "second" })
            #expect(world.starts.items == [0, 10])
        }
    }

    @Test("an answer that is of another database starts there as an announcement does")
    func anotherDatabaseAnswers() async throws {
        try await World.following { world in
            world.owner.log.withLock { $0 = Owner.Log(databaseID: "second", seqs: Array(1...10)) }
            world.follower.expect(3)
            await world.owner.asked.first(1)
            await world.settled()
            world.owner.commit(11...11)
            try world.owner.publish(11)
            #expect(await world.given.first(1).map(\.seq) == [11])
        }
    }

    @Test("a restored backup, whose log has another past under the same name, is followed from its head")
    func restoredBackup() async throws {
        try await World.following { world in
            world.owner.commit(1...5)
            try world.owner.publish(1, 2, 3, 4, 5)
            #expect(await world.given.first(5).count == 5)
            // It was made after the third entry, and goes on with others: first fewer, then as many, then more.
            for (index, count) in [4, 5, 9].enumerated() {
                world.owner.log.withLock {
                    $0.past = "past \(count)"
                    $0.seqs = Array(1...count)
                }
                world.announce()
                #expect(await world.starts.first(index + 2).last == count)
            }
            #expect(world.starts.items == [0, 4, 5, 9])
            world.owner.commit(10...10)
            try world.owner.publish(10)
            #expect(await world.given.first(6).last?.seq == 10)
        }
    }

    @Test("an entry that its owner does not know is not asked for again and again")
    func neverWas() async throws {
        try await World.run { world in
            world.owner.commit(1...2)
            world.announce()
            await world.settled()
            world.follower.expect(1_000_000)
            await world.owner.asked.first(1)
            await world.settled()
            world.owner.commit(3...4)
            try world.owner.publish(3, 4)
            #expect(await world.given.first(2).map(\.seq) == [3, 4])
            await world.settled()
            #expect(world.owner.asked.items.count == 1)
        }
    }

    @Test("an announcement that comes late changes nothing")
    func lateAnnouncement() async throws {
        try await World.following { world in
            let early = world.owner.head
            world.owner.commit(1...3)
            try world.owner.publish(1, 2, 3)
            #expect(await world.given.first(3).count == 3)
            world.follower.announced(early)
            await world.owner.asked.first(1)
            await world.settled()
            world.owner.commit(4...4)
            try world.owner.publish(4)
            #expect(await world.given.first(4).last?.seq == 4)
            #expect(world.starts.items == [0])
        }
    }

    @Test("an owner that is away is asked until it is back")
    func away() async throws {
        try await World.following { world in
            world.owner.goAway()
            world.owner.commit(1...3)
            try world.owner.publish(3)
            await world.owner.bus.requested.first(2)
            #expect(world.given.items.isEmpty)
            try world.owner.comeBack()
            #expect(await world.given.first(3).map(\.seq) == [1, 2, 3])
        }
    }

    @Test("an owner that answers with an error, or with nonsense, is asked again")
    func failing() async throws {
        try await World.following { world in
            let first = try await world.holdQuestion(committing: 1...1)
            first.reply(ServiceError.unavailable("It").json)
            await world.owner.asked.first(2)[1].reply(Reply(.ok, .emptyArray).json)
            let third = await world.owner.asked.first(3)[2]
            third.reply(world.owner.answer(third))
            #expect(await world.given.first(1).map(\.seq) == [1])
        }
    }

    @Test("entries that the owner no longer has are passed over")
    func pruned() async throws {
        try await World.following { world in
            world.owner.commit(8...10)
            world.announce()
            #expect(await world.given.first(3).map(\.seq) == [8, 9, 10])
        }
    }

    @Test("once stopped it hands nothing on and asks for nothing, also when it was waiting for an answer")
    func stopped() async throws {
        try await World.following { world in
            let request = try await world.holdQuestion(committing: 1...2)
            world.follower.stop()
            request.reply(world.owner.answer(request))
            try world.owner.publish(1, 2)
            world.follower.expect(9)
            world.announce()
            world.follower.announced(LogPosition(databaseID: "second", seq: 9, digest: 1))
            await world.settled()
            #expect(world.given.items.isEmpty)
            #expect(world.owner.asked.items.count == 1)
            #expect(world.starts.items == [0])
        }
    }
}
