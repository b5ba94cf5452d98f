import Glibc
import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("A hosted service's event log, and its end", .timeLimit(.minutes(1)))
struct ServiceHostLogTests {
    private static func page(
        _ harness: HostHarness, since: Int, digest: Int? = nil, through: Int? = nil, rooms: [String]? = nil,
        limit: Int? = nil
    ) async throws -> LogPage {
        let data = JSONWriter.object {
            $0.member("since", since)
            if let digest { $0.member("digest", digest) }
            if let through { $0.member("through", through) }
            if let rooms { $0.member("roomIds", array: { for id in rooms { $0.string(id) } }) }
            if let limit { $0.member("limit", limit) }
        }
        return try #require(LogPage(await harness.ask(Subject.logPage(of: "test"), data, as: nil).data))
    }

    @Test("entries are returned after a position, up to a limit, with the head and the oldest")
    func entries() async throws {
        let harness = try await HostHarness.started()
        let empty = try await Self.page(harness, since: 0)
        #expect((empty.head.seq, empty.oldest) == (0, 1), "there is none, and the first will be 1")
        for _ in 1...5 { try await harness.append() }

        let page = try await Self.page(harness, since: 1, limit: 3)
        #expect(page.entries.map(\.seq) == [2, 3, 4])
        #expect((page.head.seq, page.oldest) == (5, 1))
        #expect(page.head.databaseID == harness.database.databaseID)
        #expect(page.entries.first?.participants == ["ada"])
        #expect(page.entries.first?.at == HostHarness.now)
        #expect(harness.metrics.text().contains("parlor_log_seq{service=\"test\"} 5.0\n"))

        #expect(try await Self.page(harness, since: 0, limit: 0).entries.isEmpty)
        #expect(try await Self.page(harness, since: 0, limit: -1).entries.isEmpty)
        #expect(try await Self.page(harness, since: 5).entries.isEmpty)
        #expect(try await Self.page(harness, since: (1 << 53) - 1).entries.isEmpty)
        #expect(try await Self.page(harness, since: Int.min, limit: Int.max).entries.count == 5)
        await harness.stop()
    }

    @Test("pruned entries are not returned, and the oldest position says so")
    func pruned() async throws {
        let harness = try await HostHarness.started()
        for _ in 1...4 { try await harness.append() }
        // The newest stays, and an entry after it.
        try await EventLog(harness.database).prune(olderThan: HostHarness.now.adding(.milliseconds(1)))
        try await harness.append()
        let page = try await Self.page(harness, since: 0)
        #expect(page.entries.map(\.seq) == [4, 5])
        #expect((page.head.seq, page.oldest) == (5, 4))
        await harness.stop()
    }

    @Test("a position is known by its entry, not by its number")
    func known() async throws {
        let harness = try await HostHarness.started()
        for _ in 1...5 { try await harness.append() }
        let third = try #require(try await Self.page(harness, since: 2, limit: 1).entries.first)
        let page = try await Self.page(harness, since: 3, digest: third.digest)
        #expect(page.isKnown && page.entries.map(\.seq) == [4, 5] && page.through == 5)
        let other = try await Self.page(harness, since: 3, digest: third.digest + 1)
        #expect(!other.isKnown && other.entries.isEmpty)
        #expect(try await !Self.page(harness, since: 9, digest: third.digest).isKnown, "ahead of the log")
        #expect(try await Self.page(harness, since: 0, digest: 0).isKnown)
        let head = try await Self.page(harness, since: 0, limit: 0).head
        #expect(try await Self.page(harness, since: head.seq, digest: head.digest).isKnown)
        await harness.stop()
    }

    @Test("entries of some rooms are returned up to a position, with how far the page goes")
    func ofRooms() async throws {
        let harness = try await HostHarness.started()
        for _ in 1...5 { try await harness.append() }
        let room = try #require(try await Self.page(harness, since: 0).entries.first?.roomID)
        let page = try await Self.page(harness, since: 1, through: 4, rooms: [room])
        #expect(page.entries.map(\.seq) == [2, 3, 4] && page.through == 4)
        let cut = try await Self.page(harness, since: 1, through: 4, rooms: [room], limit: 2)
        #expect(cut.entries.map(\.seq) == [2, 3] && cut.through == 3)
        let none = try await Self.page(harness, since: 1, through: 4, rooms: ["another"])
        #expect(none.entries.isEmpty && none.through == 4)
        await harness.stop()
    }

    @Test("a caller gets entries without a room only if they have an event to them")
    func ofCaller() async throws {
        let harness = try await HostHarness.started()
        for person in ["ada", "bob", "eve"] {
            try await harness.database.write {
                _ = try EventLog.append(
                    at: HostHarness.now, roomID: "", participants: [],
                    emissions: [Emission(to: .person(person), "e", .emptyObject)], on: $0)
            }
        }
        let query = LogQuery(roomIDs: [""]).json
        let eve = Caller(id: "eve", username: "eve", firstName: nil)
        let cases: [(Caller?, [Int])] = [(nil, [1, 2, 3]), (eve, [3])]
        for (caller, expected) in cases {
            let reply = try await harness.ask(Subject.logPage(of: "test"), query, as: caller)
            let page = try #require(LogPage(reply.data))
            #expect(page.entries.map(\.seq) == expected && page.through == 3)
        }
        await harness.stop()
    }

    @Test("an answer holds no more than the bus carries, and at least one entry")
    func bytes() async throws {
        let harness = try await HostHarness.started()
        let large = [Emission(to: .room, "large", JSONValue(String(repeating: "x", count: 300_000)))]
        for _ in 1...3 { try await harness.append(large) }
        #expect(try await Self.page(harness, since: 0).entries.map(\.seq) == [1])
        #expect(try await Self.page(harness, since: 1).entries.map(\.seq) == [2])
        await harness.stop()
    }

    @Test("entries are published in the order of commits, each once")
    func publishes() async throws {
        let harness = try await HostHarness.started()
        let received = Collector<Int>()
        try harness.bus.subscribe(Subject.log(of: "test"), queue: nil) { message in
            received.add(LogEntry(message.data)?.seq ?? -1)
        }
        await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 1...300 { group.addTask { try await harness.append() } }
        }
        #expect(received.items == Array(1...300), "and before the write has returned")
        await harness.stop()
    }

    @Test("within the process an entry is published as itself, decoded, and a page of the log is answered as itself")
    func asThemselves() async throws {
        let harness = try await HostHarness.started()
        let published = Collector<LogEntry?>()
        try harness.bus.subscribe(Subject.log(of: "test"), queue: nil) { published.add($0.payload as? LogEntry) }
        try await harness.append([Emission(to: .room, "a", .emptyObject)])
        let entry = try #require(await published.first(1)[0])
        #expect(entry.emissions.map(\.event) == ["a"])
        let answer = try await harness.bus.request(
            Subject.logPage(of: "test"), LogQuery().json, BusContext(requestID: "request-1"))
        #expect(answer is LogPage.Payload)
        await harness.stop()
    }

    @Test("while its database cannot be read, it announces the last entry that it has published")
    func announcesWhatItKnows() async throws {
        let harness = try await HostHarness.started()
        let received = Collector<LogPosition?>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) {
            received.add($0.data["head"]?.object.flatMap(LogPosition.init))
        }
        try await harness.append([Emission(to: .room, "a", .emptyObject)])
        let end = try await EventLog(harness.database).position()
        await harness.database.close()
        try harness.bus.publish(Subject.discover, JSONValue.emptyObject)
        #expect(await received.first(1) == [end])
        await harness.stop()
    }

    @Test("its position is announced at the start, on request, and when the bus is up again")
    func announces() async throws {
        let harness = try HostHarness { $0.on(Endpoint("test.it").route("GET", "/api/test")) { _ in Reply() } }
        let received = Collector<JSONValue>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) { received.add($0.data) }
        try await harness.append()
        try await harness.host.start()
        #expect(received.items.map { $0["head"]?["seq"]?.int } == [1])
        #expect(harness.life.items == ["started"], "what it does beside requests has begun before")
        try await harness.append()
        try harness.bus.publish(Subject.discover, JSONValue.emptyObject)
        await received.first(2)
        try await harness.append()
        harness.bus.bringUp()
        await received.first(3)
        #expect(received.items.map { $0["head"]?["seq"]?.int } == [1, 2, 3])
        for announcement in received.items {
            #expect(announcement["head"]?["databaseId"]?.string == harness.database.databaseID)
            let manifest = try #require(announcement["manifest"].flatMap(Manifest.init))
            #expect(manifest.service == "test")
            #expect(manifest.routes.map(\.subject) == ["test.it"])
        }
        await harness.stop()
    }

    @Test("another instance's unannounced commit is announced by the next instance that checks")
    func unannounced() async throws {
        let path = "/tmp/parlor-untold-\(UInt64.random(in: 0 ... .max)).db"
        defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
        let harness = try HostHarness(at: .file(path), lookingEvery: .milliseconds(10))
        let received = Collector<Int>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) {
            received.add($0.data["head"]?["seq"]?.int ?? -1)
        }
        try await harness.host.start()
        let other = try SQLiteDatabase(.file(path), migrations: [])
        try await other.write { connection in
            _ = try EventLog.append(
                at: Timestamp(milliseconds: 1), roomID: "r", participants: [], emissions: [], on: connection)
        }
        #expect(await received.first(2) == [0, 1])
        // A request for the log's head is answered by any of them.
        try harness.bus.publish(Subject.discover, JSONValue.emptyObject)
        #expect(await received.first(3) == [0, 1, 1])
        await other.close()
        await harness.stop()
    }

    @Test("a log that has lost its newest entries is announced with its earlier end, and then followed on")
    func lostEntries() async throws {
        let harness = try HostHarness(lookingEvery: .milliseconds(10))
        let received = Collector<Int>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) {
            received.add($0.data["head"]?["seq"]?.int ?? -1)
        }
        try await harness.host.start()
        for _ in 1...3 { try await harness.append() }
        try await harness.database.write { try $0.execute("DELETE FROM events WHERE seq > 1") }
        while received.items.last != 1 || !harness.log.text.contains("has lost its newest entries") {
            await Task.yield()
        }
        try await harness.append()
        try harness.bus.publish(Subject.discover, JSONValue.emptyObject)
        while received.items.last != 2 { await Task.yield() }
        #expect(harness.log.lines.count { $0.contains("has lost its newest entries") } == 1)
        await harness.stop()
    }

    @Test("a bus that fails while the service starts is awaited")
    func busGoesAtStart() async throws {
        let harness = try HostHarness()
        harness.bus.loseConnection(times: 2)
        let received = Collector<JSONValue>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) { received.add($0.data) }
        try await harness.host.start()
        #expect(received.items.count == 1)
        await harness.stop()
    }

    @Test("an entry that the bus had no room for is announced until it fits")
    func unpublished() async throws {
        let harness = try await HostHarness.started()
        let received = Collector<Int>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) {
            received.add($0.data["head"]?["seq"]?.int ?? -1)
        }
        harness.bus.refusePublishing(.slowConsumer)
        try await harness.append()
        let lines = await harness.log.first(2)
        #expect(lines[0].contains("entries were not published"))
        #expect(lines[1].contains("could not be announced"), "the first announcement is refused, too")
        harness.bus.refusePublishing(nil)
        #expect(await received.first(1) == [1])
        await harness.stop()
    }

    @Test("entries of a commit that fit the bus are published at once, the others announced")
    func partlyUnpublished() async throws {
        let harness = try await HostHarness.started()
        let (published, announced) = (Collector<Int>(), Collector<Int>())
        try harness.bus.subscribe(Subject.log(of: "test"), queue: nil) { published.add($0.data["seq"]?.int ?? -1) }
        try harness.bus.subscribe(Subject.announcements, queue: nil) {
            announced.add($0.data["head"]?["seq"]?.int ?? -1)
        }
        harness.bus.refusePublishing(.slowConsumer, after: 2)
        try await harness.database.write { connection in
            for _ in 1...5 {
                _ = try EventLog.append(
                    at: Timestamp(milliseconds: 1), roomID: "r", participants: [], emissions: [], on: connection)
            }
        }
        // Each call passes two payloads: two entries, and the announcement, which is one by itself.
        #expect(await announced.first(1) == [5])
        #expect(published.items == [1, 2])
        let line = await harness.log.first(1)[0]
        #expect(line.contains("entries were not published") && line.contains("\"count\":3"))
        await harness.stop()
    }

    @Test("stopping refuses requests, waits for those in progress, then ends the service, then its database")
    func stops() async throws {
        let (harness, entered, gate) = try await HostHarness.holding()
        let announced = Collector<Void>()
        try harness.bus.subscribe(Subject.announcements, queue: nil) { _ in announced.add(()) }
        async let answer = harness.ask("test.wait")
        await entered.passed()
        async let stopping: Void = {
            await harness.stop(within: .seconds(60))
            harness.life.add("closed")
        }()
        while true {
            do {
                try await harness.ask(Subject.health(of: "test"))
            } catch {
                break
            }
        }
        harness.bus.bringUp()
        #expect(announced.items.isEmpty, "who is leaving does not say that he is there")
        try await harness.append()
        #expect(harness.life.items == ["started"], "neither the service nor its database has ended")
        gate.open()
        #expect(try await answer.status == .ok)
        await stopping
        #expect(harness.life.items == ["started", "stopped", "closed"])
        await #expect(throws: StorageError.closed) { try await harness.append() }
    }

    @Test("a request that does not end delays nothing beyond the deadline, and the log says so")
    func deadline() async throws {
        let (harness, entered, gate) = try await HostHarness.holding()
        async let answer = harness.ask("test.wait")
        await entered.passed()
        await harness.host.stop(within: .milliseconds(1))
        #expect(harness.life.items == ["started", "stopped"])
        #expect(harness.log.lines.contains { $0.contains("requests in progress") && $0.contains(#""count":1"#) })
        gate.open()
        _ = try await answer
        await harness.serviceHarness.release()
    }
}

@Suite("Requests in progress")
struct RequestsInFlightTests {
    @Test("as many as the limit may begin, and the last to end releases the waiter")
    func limit() async {
        let inFlight = InFlightRequests(limit: 2)
        #expect(inFlight.begin())
        #expect(inFlight.begin())
        #expect(!inFlight.begin())
        inFlight.end()
        #expect(inFlight.begin())
        async let left = inFlight.close(within: .seconds(60))
        while !inFlight.isClosed { await Task.yield() }
        #expect(!inFlight.begin())
        inFlight.end()
        inFlight.end()
        #expect(await left == 0)
    }

    @Test("a wait returns at once without requests, or without time")
    func atOnce() async {
        #expect(await InFlightRequests(limit: 1).close(within: .seconds(60)) == 0)
        let busy = InFlightRequests(limit: 1)
        #expect(busy.begin())
        #expect(await busy.close(within: .zero) == 1)
    }
}
