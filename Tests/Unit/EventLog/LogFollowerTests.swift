import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@Suite("following a log", .timeLimit(.minutes(1)))
struct LogFollowerTests {
    /// The owner of an event log, as followers see it. It publishes on the test's command, and
    /// answers from its whole log.
    private final class Owner: Sendable {
        struct Log {
            var databaseID = "first"
            /// Another log has other entries under the same numbers.
            var past = "one past"
            var seqs: [Int] = []
            /// Whether it answers only on the test's command.
            var holds = false
        }

        let bus = FakeBus()
        let asked = Collector<BusRequest>()
        let log = Mutex(Log())
        private let serving = Mutex<BusSubscription?>(nil)

        init() throws { try bringUp() }

        func takeDown() { serving.withLock { $0?.cancel() } }

        func bringUp() throws {
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

    /// A follower on a loop of its own, with the entries it has delivered.
    private struct Harness {
        let owner: Owner
        let group: EventLoopGroup
        let follower: LogFollower
        let given = Collector<LogEntry>()
        let starts = Collector<Int>()

        static func run(
            lookingEvery interval: Duration? = nil, restartInterval: Duration = .zero, ownerHolds: Bool = false,
            _ body: (Harness) async throws -> Void
        ) async throws {
            let harness = try Harness(interval, restartInterval)
            harness.owner.log.withLock { $0.holds = ownerHolds }
            try harness.follower.start()
            var failure: (any Error)?
            do { try await body(harness) } catch { failure = error }
            harness.follower.stop()
            await harness.settled()
            await finish(harness.group)
            if let failure { throw failure }
        }

        /// Runs a test with a follower that has started at the end of an empty log.
        static func following(
            restartInterval: Duration = .zero, _ body: (Harness) async throws -> Void
        ) async throws {
            try await run(restartInterval: restartInterval) { harness in
                harness.announce()
                await harness.settled()
                try await body(harness)
            }
        }

        private init(_ lookInterval: Duration?, _ restartInterval: Duration) throws {
            owner = try Owner()
            group = try EventLoopGroup(loopCount: 1)
            follower = LogFollower(
                "notes", bus: owner.bus, on: group.loops[0], log: .silent, lookingEvery: lookInterval,
                restartInterval: restartInterval, deliver: { [given] in for entry in $0 { given.add(entry) } },
                onStart: { [starts] in starts.add($0.seq) })
        }

        /// Commits and publishes entries, and waits until they are delivered.
        func deliver(_ seqs: ClosedRange<Int>) async throws {
            owner.commit(seqs)
            for seq in seqs { try owner.publish(seq) }
            #expect(await given.first(seqs.upperBound).count == seqs.upperBound)
        }

        func announce() {
            follower.announced(owner.head)
        }

        /// Returns the first request, for entries that are committed now: the owner leaves it
        /// unanswered.
        func holdRequest(committing seqs: ClosedRange<Int>) async throws -> BusRequest {
            owner.log.withLock { $0.holds = true }
            owner.commit(seqs)
            announce()
            return try #require(await owner.asked.first(1).first)
        }

        /// Waits until the loop has done all earlier work.
        func settled() async {
            await withCheckedContinuation { continuation in group.loops[0].execute { continuation.resume() } }
        }
    }

    @Test("it starts at the announced position, and delivers later entries that arrived before it")
    func starts() async throws {
        try await Harness.run { harness in
            harness.owner.commit(1...7)
            try harness.owner.publish(5, 6, 7)
            harness.follower.announced(harness.owner.position(5, of: harness.owner.log.withLock { $0 }))
            #expect(await harness.given.first(2).map(\.seq) == [6, 7])
            #expect(harness.starts.items == [5])
            #expect(harness.owner.asked.items.isEmpty)
        }
    }

    @Test("one that looks for the log's head starts without an announcement, and finds an entry that the bus has lost")
    func looks() async throws {
        try await Harness.run(lookingEvery: .milliseconds(10)) { harness in
            #expect(await harness.starts.first(1) == [0])
            harness.owner.takeDown()
            let count = harness.owner.bus.requested.items.count
            await harness.owner.bus.requested.first(count + 3)
            try harness.owner.bringUp()
            harness.owner.commit(1...3)
            #expect(await harness.given.first(3).map(\.seq) == [1, 2, 3])
        }
    }

    @Test("one that has stopped does not look again")
    func stopsLooking() async throws {
        try await Harness.run(lookingEvery: .seconds(60), ownerHolds: true) { harness in
            let request = try #require(await harness.owner.asked.first(1).first)
            harness.follower.stop()
            request.reply(harness.owner.answer(request))
            await harness.settled()
            #expect(harness.starts.items.isEmpty)
        }
    }

    @Test("entries in any order and repeated are delivered once and in order, without a request")
    func inOrder() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...6)
            try harness.owner.publish(2, 1, 1, 2, 3, 5, 4, 6, 6)
            #expect(await harness.given.first(6).map(\.seq) == Array(1...6))
            await harness.settled()
            #expect(harness.given.items.count == 6)
        }
    }

    @Test("a gap that stays open is fetched")
    func gap() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...4)
            try harness.owner.publish(1, 4)
            #expect(await harness.given.first(4).map(\.seq) == [1, 2, 3, 4])
            #expect(harness.owner.asked.items.map { $0.data["since"]?.int } == [1])
        }
    }

    @Test("entries that an announcement implies are fetched, page by page")
    func announcedHead() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...1200)
            harness.announce()
            #expect(await harness.given.first(1200).map(\.seq) == Array(1...1200))
            #expect(harness.owner.asked.items.map { $0.data["since"]?.int } == [0, 500, 1000])
        }
    }

    @Test("entries beyond the bound on early ones are fetched, too")
    func flood() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...5000)
            for seq in 2...5000 { try harness.owner.publish(seq) }
            #expect(await harness.given.first(5000).map(\.seq) == Array(1...5000))
        }
    }

    @Test("an expected entry is fetched if it does not arrive")
    func expected() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...1)
            harness.follower.expect(1)
            #expect(await harness.given.first(1).map(\.seq) == [1])
        }
    }

    @Test("an entry expected while an older answer is on its way is requested again")
    func expectedMeanwhile() async throws {
        try await Harness.following { harness in
            let request = try await harness.holdRequest(committing: 1...1)
            let older = harness.owner.answer(request)
            harness.owner.commit(2...2)
            harness.follower.expect(2)
            await harness.settled()
            harness.owner.log.withLock { $0.holds = false }
            request.reply(older)
            #expect(await harness.given.first(2).map(\.seq) == [1, 2])
        }
    }

    @Test("an owner with another database is followed from its head, and early entries are not taken for its own")
    func anotherDatabase() async throws {
        try await Harness.following { harness in
            harness.owner.log.withLock { $0.holds = true }
            harness.owner.commit(1...12)
            try harness.owner.publish(12)
            let older = try #require(await harness.owner.asked.first(1).first)
            let late = harness.owner.answer(older)

            harness.owner.log.withLock { $0 = Owner.Log(databaseID: "second", seqs: Array(1...10)) }
            harness.announce()
            await harness.settled()
            older.reply(late)
            harness.owner.commit(11...13)
            try harness.owner.publish(11, 12, 13)
            let given = await harness.given.first(3)
            #expect(given.map(\.seq) == [11, 12, 13])
            #expect(given.allSatisfy { $0.roomID == "second" })
            #expect(harness.starts.items == [0, 10])
        }
    }

    @Test("a reply from another database restarts there, as an announcement does")
    func anotherDatabaseAnswers() async throws {
        try await Harness.following { harness in
            harness.owner.log.withLock { $0 = Owner.Log(databaseID: "second", seqs: Array(1...10)) }
            harness.follower.expect(3)
            await harness.owner.asked.first(1)
            await harness.settled()
            harness.owner.commit(11...11)
            try harness.owner.publish(11)
            #expect(await harness.given.first(1).map(\.seq) == [11])
        }
    }

    @Test("a log that is replaced again too soon is not followed, by announcement or by answer")
    func replacedAgain() async throws {
        try await Harness.following(restartInterval: .seconds(3600)) { harness in
            for name in ["second", "third", "fourth"] {
                harness.owner.log.withLock { $0 = Owner.Log(databaseID: name, seqs: Array(1...10)) }
                harness.announce()
                await harness.settled()
            }
            harness.follower.expect(11)
            await harness.owner.asked.first(1)
            await harness.settled()
            #expect(harness.starts.items == [0, 10])
            harness.owner.log.withLock { $0 = Owner.Log(databaseID: "second", seqs: Array(1...11)) }
            harness.announce()
            #expect(await harness.given.first(1).map(\.roomID) == ["second"])
        }
    }

    @Test("a restored backup, whose log has another history under the same name, is followed from its head")
    func restoredBackup() async throws {
        try await Harness.following { harness in
            try await harness.deliver(1...5)
            // It was made after the third entry, and goes on with others: first fewer, then as many, then more.
            for (index, count) in [4, 5, 9].enumerated() {
                harness.owner.log.withLock {
                    $0.past = "past \(count)"
                    $0.seqs = Array(1...count)
                }
                harness.announce()
                #expect(await harness.starts.first(index + 2).last == count)
            }
            #expect(harness.starts.items == [0, 4, 5, 9])
            harness.owner.commit(10...10)
            try harness.owner.publish(10)
            #expect(await harness.given.first(6).last?.seq == 10)
        }
    }

    @Test("whether the log was replaced is asked until the owner answers")
    func restoredWhileDown() async throws {
        try await Harness.following { harness in
            try await harness.deliver(1...5)
            harness.owner.takeDown()
            harness.owner.log.withLock { $0.seqs = Array(1...3) }
            harness.announce()
            await harness.settled()
            try harness.owner.bringUp()
            #expect(await harness.starts.first(2) == [0, 3])
        }
    }

    @Test("an entry that its owner does not know is not requested again and again")
    func neverWas() async throws {
        try await Harness.run { harness in
            harness.owner.commit(1...2)
            harness.announce()
            await harness.settled()
            harness.follower.expect(1_000_000)
            await harness.owner.asked.first(1)
            await harness.settled()
            harness.owner.commit(3...4)
            try harness.owner.publish(3, 4)
            #expect(await harness.given.first(2).map(\.seq) == [3, 4])
            await harness.settled()
            #expect(harness.owner.asked.items.count == 1)
        }
    }

    @Test("a late announcement changes nothing")
    func lateAnnouncement() async throws {
        try await Harness.following { harness in
            let early = harness.owner.head
            harness.owner.commit(1...3)
            try harness.owner.publish(1, 2, 3)
            #expect(await harness.given.first(3).count == 3)
            harness.follower.announced(early)
            await harness.owner.asked.first(1)
            await harness.settled()
            harness.owner.commit(4...4)
            try harness.owner.publish(4)
            #expect(await harness.given.first(4).last?.seq == 4)
            #expect(harness.starts.items == [0])
        }
    }

    @Test("a stopped follower does not start again, even if the reply to an earlier request shows another log")
    func stoppedBeforeRestart() async throws {
        try await Harness.following { harness in
            harness.owner.commit(1...1)
            try harness.owner.publish(1)
            #expect(await harness.given.first(1).map(\.seq) == [1])
            let request = try await harness.holdRequest(committing: 2...2)
            harness.follower.stop()
            harness.owner.log.withLock { $0 = Owner.Log(past: "another past", seqs: [1, 2]) }
            request.reply(harness.owner.answer(request))
            await harness.settled()
            #expect(harness.starts.items == [0])
        }
    }

    @Test("an unavailable owner is asked until it is available again")
    func away() async throws {
        try await Harness.following { harness in
            harness.owner.takeDown()
            harness.owner.commit(1...3)
            try harness.owner.publish(3)
            await harness.owner.bus.requested.first(2)
            #expect(harness.given.items.isEmpty)
            try harness.owner.bringUp()
            #expect(await harness.given.first(3).map(\.seq) == [1, 2, 3])
        }
    }

    @Test("an owner that answers with an error, or an invalid answer, is asked again")
    func failing() async throws {
        try await Harness.following { harness in
            let first = try await harness.holdRequest(committing: 1...1)
            first.reply(ServiceError.unavailable("It").json)
            await harness.owner.asked.first(2)[1].reply(Reply(.ok, .emptyArray).json)
            let third = await harness.owner.asked.first(3)[2]
            third.reply(harness.owner.answer(third))
            #expect(await harness.given.first(1).map(\.seq) == [1])
        }
    }

    @Test("entries that the owner no longer has are skipped")
    func pruned() async throws {
        try await Harness.following { harness in
            harness.owner.commit(8...10)
            harness.announce()
            #expect(await harness.given.first(3).map(\.seq) == [8, 9, 10])
        }
    }

    @Test("a stopped follower delivers nothing and asks for nothing, also if it was waiting for a reply")
    func stopped() async throws {
        try await Harness.following { harness in
            let request = try await harness.holdRequest(committing: 1...2)
            harness.follower.stop()
            request.reply(harness.owner.answer(request))
            try harness.owner.publish(1, 2)
            harness.follower.expect(9)
            harness.announce()
            harness.follower.announced(LogPosition(databaseID: "second", seq: 9, digest: 1))
            await harness.settled()
            #expect(harness.given.items.isEmpty)
            #expect(harness.owner.asked.items.count == 1)
            #expect(harness.starts.items == [0])
        }
    }
}
