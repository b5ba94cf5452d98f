import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorServiceKitTesting
import ParlorStorage
import ParlorTestSupport
import Synchronization
import Testing

@Suite("following a log with a stored position", .timeLimit(.minutes(1)))
struct DurableFollowerTests {
    @Test("a service that is added later takes every entry from the log's beginning, once and in order")
    func beginning() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...100)
            try await harness.follow()
            #expect(try await harness.taken() == Array(1...100))
            #expect(harness.consumer.begins.items == [.first])
            try await harness.write(101...102)
            try await harness.follow()
            #expect(try await harness.taken() == Array(1...102))
            #expect(try await harness.copies() == harness.notes.service.notes())
        }
    }

    @Test("where it cannot begin at the beginning, a snapshot and the entries after it are all that the owner has")
    func snapshot() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...200)
            try await harness.prune(before: 190)
            // Between the pages notes change that were read, and ones that were not read yet.
            let pages = Atomic(0)
            harness.consumer.onPage.withLock { hook in
                hook = {
                    let page = pages.add(1, ordering: .relaxed).newValue
                    try await harness.write(20 * page...20 * page + 2, "changed \(page)")
                    try await harness.write(300 + page...300 + page, "new")
                    try await harness.notes.service.write("note-\(1000 + 200 - page)", nil)
                    try await harness.notes.service.write("note-\(1000 + page)", nil)
                    try await harness.notes.service.write("note-0000-\(page)", "before all")
                }
            }
            try await harness.follow()
            let (taken, pagesRead) = (try await harness.taken(), pages.load(ordering: .relaxed))
            #expect(pagesRead > 3)
            // Each page was followed by seven changes.
            #expect(taken == Array(201...200 + 7 * pagesRead), "all after the first page, and none before it")
            #expect(try await harness.copies() == harness.notes.service.notes())
        }
    }

    @Test("a snapshot that was interrupted is read again, and leaves nothing of the first attempt")
    func interrupted() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...100)
            try await harness.prune(before: 99)
            harness.consumer.onPage.withLock { $0 = { throw NotesIndex.Refusal() } }
            await #expect(throws: NotesIndex.Refusal.self) { try await harness.follow() }
            #expect(try await harness.storedSeq() == nil)
            #expect(try await harness.copies().first == "note-1001=text")
            harness.consumer.onPage.withLock { $0 = nil }
            try await harness.notes.service.write("note-1001", nil)
            try await harness.prune(before: 101)
            try await harness.follow()
            #expect(try await harness.copies() == harness.notes.service.notes())
            #expect(try await harness.storedSeq() == 101)
        }
    }

    @Test("it learns that entries after its position were deleted, once, and catches up by a snapshot")
    func pruned() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...3)
            try await harness.follow()
            try await harness.write(4...9)
            // Entry 4 is still there: nothing is lost.
            try await harness.prune(before: 4)
            try await harness.follow()
            #expect(harness.consumer.begins.items == [.first])
            #expect(try await harness.taken() == Array(1...9))
            try await harness.write(10...19)
            try await harness.prune(before: 11)
            try await harness.follow()
            try await harness.follow()
            #expect(harness.consumer.begins.items == [.first, .pruned])
            #expect(try await harness.copies() == harness.notes.service.notes())
            #expect(try await harness.storedSeq() == 19)
            #expect(harness.index.log.lines.contains { $0.contains("entries of a followed log are lost") })
        }
    }

    @Test("without a snapshot it takes the entries that are still there")
    func kept() async throws {
        try await FollowingHarness.run { harness in
            harness.consumer.readsSnapshots.store(false, ordering: .relaxed)
            try await harness.write(1...5)
            try await harness.prune(before: 3)
            try await harness.follow()
            #expect(try await harness.taken() == [3, 4, 5])
            try await harness.write(6...9)
            try await harness.prune(before: 8)
            try await harness.follow()
            #expect(try await harness.taken() == [3, 4, 5, 8, 9])
            #expect(harness.consumer.begins.items == [.first, .pruned])
        }
    }

    @Test("a log that replaced the one before is followed anew, and its snapshot replaces what was kept")
    func replaced() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...5)
            try await harness.follow()
            await harness.notes.host.stop(within: .seconds(1))
            let other = try ServiceHarness<NotesService>(bus: harness.bus)
            try await other.run {
                try await other.service.write("other", "text")
                try await harness.follow()
                #expect(harness.consumer.begins.items == [.first, .replaced])
                #expect(try await harness.copies() == ["other=text"])
                try await other.service.write("another", "text")
                try await harness.follow()
                #expect(try await harness.copies() == other.service.notes())
            }
        }
    }

    @Test("what an entry that cannot be taken has begun is undone with its page, and tried again")
    func refused() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...3)
            harness.consumer.refused.withLock { $0 = "bad" }
            try await harness.write(4...4, "bad")
            await #expect(throws: NotesIndex.Refusal.self) { try await harness.follow() }
            let (copies, stored) = (try await harness.copies(), try await harness.storedSeq())
            #expect(copies.isEmpty && stored == 0)
            harness.consumer.refused.withLock { $0 = nil }
            try await harness.follow()
            #expect(try await harness.taken() == Array(1...4))
        }
    }

    @Test("pages of malformed entries are passed over, and a line names the log and the position")
    func malformed() async throws {
        let bus = InProcessBus()
        let index = try ServiceHarness<IndexService>(bus: bus)
        let last = LogEntry(
            seq: 3, at: Timestamp(milliseconds: 0), roomID: "", participants: [], emissionsJSON: JSONValue.emptyArray)
        let end = LogPosition(after: last, in: "notes")
        // A malformed entry on each of two pages, then the last entry.
        try bus.respond(to: Subject.logPage(of: NotesService.logID), queue: NotesService.name) { request in
            let since = request.data["since"]?.int ?? 0
            let page = LogPage(
                head: end, oldest: 1, isKnown: true, entries: since < 2 ? [] : [last], through: since + 1
            ).json.text.replacing(#""entries":[]"#, with: #""entries":[{}]"#)
            request.reply(Reply(.ok, JSONValue(trusted: Array(page.utf8))).json)
        }
        try await index.run {
            let begun = try await index.service.follower.only.step(from: nil).0
            #expect(try await index.service.follower.only.step(from: begun).0 == end)
            #expect(index.service.follower.consumer.commits.items.count == 1)
            let lines = index.log.lines.filter { $0.contains("an entry of its log is malformed") }
            #expect(lines.count == 1 && lines[0].contains(#""name":"notes""#))
            #expect(lines.first?.contains("between 1 and 1") == true)
        }
    }

    @Test("instances on one database take each entry once between them")
    func sideBySide() async throws {
        try await FollowingHarness.run { harness in
            let (one, consumer) = (harness.index.service.follower, NotesIndex(harness.index.context))
            let other = DurableFollower(NotesService.logID, for: IndexService.self, harness.index.context, consumer)
            try await harness.follow(one)
            let start = try await other.only.step(from: nil).0
            try await harness.write(1...40)
            _ = try await one.only.step(from: start)
            // Both have read the first page; the second one then takes what the first has left.
            _ = try await other.only.step(from: start)
            #expect(consumer.commits.items.isEmpty, "it has taken nothing")
            _ = try await other.only.step(from: start, after: 100)
            #expect(try await harness.taken() == Array(1...40))
        }
    }

    @Test("while no entry matters none is read, and the position moves with the log's head")
    func idle() async throws {
        try await FollowingHarness.run { harness in
            try await harness.follow()
            harness.consumer.isIdle.store(true, ordering: .relaxed)
            try await harness.write(1...5)
            let position = try await harness.index.service.follower.only.step(from: nil).0
            #expect(position.seq == 5)
            #expect(try await harness.storedSeq() == 0, "it is stored at intervals")
            try await harness.index.service.follower.only.store(position)
            #expect(try await harness.storedSeq() == 5)
            harness.consumer.isIdle.store(false, ordering: .relaxed)
            try await harness.write(6...6)
            try await harness.follow()
            #expect(try await harness.taken() == [6])
        }
    }

    @Test("entries that change nothing are not written, and are read again after a crash")
    func indifferent() async throws {
        try await FollowingHarness.run { harness in
            harness.consumer.isIndifferent.store(true, ordering: .relaxed)
            try await harness.write(1...5)
            try await harness.follow()
            #expect(try await harness.storedSeq() == 0)
            harness.consumer.isIndifferent.store(false, ordering: .relaxed)
            try await harness.follow()
            #expect(try await harness.taken() == Array(1...5))
        }
    }

    @Test(
        "a beginning that is not in the log is refused, and not stored",
        arguments: [
            LogPosition(databaseID: "another", seq: 9, digest: 0), LogPosition(databaseID: "", seq: 1, digest: 0),
            LogPosition(databaseID: "", seq: 9, digest: 1), LogPosition(databaseID: "", seq: 10, digest: 0),
        ])
    func badBeginning(position: LogPosition) async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...9)
            try await harness.prune(before: 5)
            let databaseID = harness.notes.context.database.databaseID
            harness.consumer.place.withLock { place in
                place = LogPosition(
                    databaseID: position.databaseID.isEmpty ? databaseID : position.databaseID, seq: position.seq,
                    digest: position.digest)
            }
            await #expect(throws: (any Error).self) { try await harness.follow() }
            #expect(try await harness.storedSeq() == nil)
        }
    }

    @Test("a request can wait until the log is followed, and asks the owner only the first time")
    func beginIfNew() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...3)
            harness.consumer.place.withLock { [end = try await EventLog(harness.notes.context.database).position()] in
                $0 = end
            }
            let follower = harness.index.service.follower
            try await follower.beginIfNew(BusContext(requestID: "request"))
            #expect(try await harness.storedSeq() == 3)
            try await follower.beginIfNew(BusContext(requestID: "request"))
            #expect(harness.consumer.begins.items == [.first])
        }
    }

    @Test("requests that come together begin to follow the log once")
    func beginTogether() async throws {
        try await FollowingHarness.run { harness in
            try await harness.write(1...3)
            let follower = harness.index.service.follower
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await follower.beginIfNew(BusContext(requestID: "request")) }
                }
                try await group.waitForAll()
            }
            #expect(harness.consumer.begins.items == [.first])
        }
    }

    @Test("entries that were read without a write are not read again after an outage of the owner")
    func outage() async throws {
        let folder = TemporaryFolder()
        func database() throws -> SQLiteDatabase {
            try SQLiteDatabase(.file("\(folder.path)/notes.db"), migrations: NotesService.migrations)
        }
        try await FollowingHarness.run(on: database()) { harness in
            let follower = harness.index.service.follower
            try await harness.follow()
            harness.consumer.isIdle.store(true, ordering: .relaxed)
            try await harness.write(1...5)
            try follower.start()
            // A step asks before and after it reads the log's head, and only before if that fails.
            await harness.consumer.questions.first(2)
            await harness.notes.host.stop(within: .seconds(1))
            let before = harness.consumer.questions.items.count
            // At the third request from now on, a step has failed.
            await harness.consumer.questions.first(before + 3)
            harness.consumer.isIdle.store(false, ordering: .relaxed)
            let back = try ServiceHarness<NotesService>(on: database(), bus: harness.bus)
            try await back.run {
                try await back.service.write("note-6", "text")
                await harness.consumer.commits.first(1)
                #expect(try await harness.taken() == [6])
            }
            await follower.stop()
        }
    }

    @Test("while it runs an entry on the bus wakes it, and an outage of the owner delays entries only")
    func running() async throws {
        let folder = TemporaryFolder()
        func database() throws -> SQLiteDatabase {
            try SQLiteDatabase(.file("\(folder.path)/notes.db"), migrations: NotesService.migrations)
        }
        try await FollowingHarness.run(on: database()) { harness in
            let follower = harness.index.service.follower
            try follower.start()
            try await harness.write(1...1)
            await harness.consumer.commits.first(1)
            await harness.notes.host.stop(within: .seconds(1))

            let back = try ServiceHarness<NotesService>(on: database(), bus: harness.bus)
            try await back.service.write("note-2", "text")
            try await back.run {
                try await back.service.write("note-3", "text")
                var commits = 1
                while try await harness.taken().count < 3 {
                    commits += 1
                    await harness.consumer.commits.first(commits)
                }
                #expect(try await harness.taken() == [1, 2, 3])
                await follower.stop()
                try await back.service.write("note-4", "text")
            }
            #expect(try await harness.taken() == [1, 2, 3])
        }
    }
}
