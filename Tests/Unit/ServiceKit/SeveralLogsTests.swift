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

@Suite("Following a service with several logs")
struct SeveralLogsTests {
    /// The owner of logs, whose number may change.
    private final class Owner: Sendable {
        private struct State {
            var layout: LogLayout
            var entries: [Int: [LogEntry]] = [:]
        }

        private let bus: any MessageBus
        private let state: Mutex<State>

        init(_ layout: LogLayout, on bus: any MessageBus) throws {
            self.bus = bus
            state = Mutex(State(layout: layout))
            try bus.respond(to: Subject.logPage(of: "notes"), queue: "notes") { [weak self] request in
                self?.answer(request)
            }
        }

        /// Writes an entry of a room, and signals it unless nobody is to hear of it.
        func write(_ room: String, isPublished: Bool = true) throws {
            let entry = state.withLock { state in
                let log = state.layout.number(ofRoom: room)
                let entry = LogEntry(
                    log: log, seq: (state.entries[log]?.last?.seq ?? 0) + 1, at: Timestamp(milliseconds: 1),
                    roomID: room,
                    participants: [], emissionsJSON: .emptyArray)
                state.entries[log, default: []].append(entry)
                return entry
            }
            if isPublished { try bus.publish(Subject.log(of: LogID("notes", entry.log)), entry.json) }
        }

        func spreadUnnoticed(over layout: LogLayout) { state.withLock { $0.layout = layout } }

        func spread(over layout: LogLayout) throws {
            spreadUnnoticed(over: layout)
            try bus.publish(Subject.announce(of: "notes"), JSONValue.emptyObject)
        }

        func prune(before seq: Int, in log: Int) {
            state.withLock { $0.entries[log]?.removeAll { $0.seq < seq } }
        }

        private func answer(_ request: BusRequest) {
            let (log, since) = (request.data["log"]?.int ?? 0, request.data["since"]?.int ?? 0)
            let state = state.withLock { $0 }
            func head(_ log: Int) -> LogPosition { LogPosition(after: state.entries[log]?.last, in: "notes") }
            let limit = request.data["limit"]?.int ?? 500
            let all = state.entries[log] ?? []
            let entries = all.filter { $0.seq > since }.prefix(limit)
            var page = LogPage(
                head: head(log), oldest: all.first?.seq ?? 1, isKnown: since == 0 || all.contains { $0.seq == since },
                entries: Array(entries), through: entries.last?.seq ?? since)
            if state.layout != .single {
                page.heads = Dictionary(uniqueKeysWithValues: state.layout.numbers.map { ($0, head($0)) })
                page.earlier = state.entries.keys.filter { !state.layout.numbers.contains($0) }.sorted()
            }
            request.reply(Reply(.ok, page.json).json)
        }
    }

    /// Notes what it takes.
    private final class Consumer: LogConsumer {
        let taken = Collector<String>()
        let begins = Collector<BeginReason>()
        let areWhole = Collector<Bool>()

        func begin(_ log: FollowedLog, because reason: BeginReason) async throws -> LogPosition {
            begins.add(reason)
            areWhole.add(log.isWhole)
            return log.head
        }

        func take(_ entries: [LogEntry], on connection: any Connection) throws {
            for entry in entries { taken.add("\(entry.log) \(entry.roomID) \(entry.seq)") }
        }
    }

    private func run(
        _ layout: LogLayout, _ test: (Owner, Consumer, DurableFollower<Consumer>, ServiceContext) async throws -> Void
    ) async throws {
        let index = try ServiceHarness<IndexService>()
        let owner = try Owner(layout, on: index.bus)
        let consumer = Consumer()
        let follower = DurableFollower("notes", for: IndexService.self, index.context, pace: .zero, consumer)
        try await index.run {
            try await follower.beginIfNew(BusContext(requestID: "test"))
            try follower.start()
            try await test(owner, consumer, follower, index.context)
            await follower.stop()
        }
    }

    @Test("if entries of an old log were deleted before they were read, the consumer begins again, with each new log")
    func lossyChange() async throws {
        try await run(.single) { owner, consumer, follower, context in
            try owner.write("room")
            await consumer.taken.first(1)
            await follower.stop()
            for _ in 0..<5 { try owner.write("room", isPublished: false) }
            owner.prune(before: 5, in: 0)
            try owner.spread(over: LogLayout(generation: 1, count: 4))
            let later = DurableFollower("notes", for: IndexService.self, context, pace: .zero, consumer)
            try later.start()
            #expect(await consumer.begins.first(5) == [.first] + [BeginReason](repeating: .pruned, count: 4))
            #expect(consumer.taken.items == [1, 5, 6].map { "0 room \($0)" })
            try owner.write("room")
            await consumer.taken.first(4)
            await later.stop()
        }
    }

    @Test("of two instances that find other logs at once, each entry is taken once, and neither begins again")
    func changeSideBySide() async throws {
        try await run(.single) { owner, consumer, _, context in
            let other = Consumer()
            let second = DurableFollower("notes", for: IndexService.self, context, pace: .zero, other)
            try second.start()
            for _ in 0..<40 { try owner.write("room", isPublished: false) }
            owner.spreadUnnoticed(over: LogLayout(generation: 1, count: 2))
            for _ in 0..<10 { try owner.write("room", isPublished: false) }
            try owner.spread(over: LogLayout(generation: 2, count: 4))
            for _ in 0..<50 { try owner.write("room") }
            func taken() -> [String] { consumer.taken.items + other.taken.items }
            while taken().count < 100 { await Task.yield() }
            await second.stop()
            #expect(Set(taken()).count == 100 && taken().count == 100)
            #expect(consumer.begins.items.count == 1 && other.begins.items.isEmpty)
        }
    }

    private func positions(_ context: ServiceContext) async throws -> [String] {
        try await context.database.read {
            try $0.all("SELECT stream, seq FROM log_positions ORDER BY stream") { "\($0.text(0)) \($0.int(1))" }
        }
    }

    @Test(
        "logs of a later generation do not say all that has happened, though none of their entries was deleted",
        arguments: [(LogLayout.single, [true]), (LogLayout(generation: 1, count: 2), [false, false])])
    func whole(layout: LogLayout, areWhole: [Bool]) async throws {
        try await run(layout) { _, consumer, _, _ in #expect(consumer.areWhole.items == areWhole) }
    }

    @Test("the entries of all logs are taken, those of a room in order")
    func all() async throws {
        try await run(LogLayout(generation: 1, count: 4)) { owner, consumer, _, context in
            #expect(consumer.begins.items.count == 4)
            let rooms = (0..<20).map { "room \($0)" }
            for room in rooms + rooms { try owner.write(room) }
            let taken = await consumer.taken.first(40)
            for room in rooms {
                let seqs = taken.filter { $0.contains(" \(room) ") }.compactMap {
                    Int($0.split(separator: " ").last ?? "")
                }
                #expect(seqs.count == 2 && seqs[0] < seqs[1])
            }
            let positions = try await positions(context)
            #expect(positions.count == 4 && positions.allSatisfy { $0.hasPrefix("notes.10") })
        }
    }

    @Test(
        "if the owner has other logs, the old ones are read to their ends before the new ones",
        arguments: [LogLayout.single, LogLayout(generation: 1, count: 4)])
    func change(before: LogLayout) async throws {
        try await run(before) { owner, consumer, _, context in
            try owner.write("room")
            await consumer.taken.first(1)
            for _ in 0..<3 { try owner.write("room", isPublished: false) }
            let begins = consumer.begins.items.count
            // The owner had other logs in between, which nobody has heard of.
            owner.spreadUnnoticed(over: LogLayout(generation: 2, count: 2))
            try owner.write("room", isPublished: false)
            try owner.spread(over: LogLayout(generation: 3, count: 8))
            for _ in 0..<3 { try owner.write("room") }
            let (old, new) = (before, LogLayout(generation: 3, count: 8))
            #expect(
                await consumer.taken.first(8)
                    == (1...4).map { "\(old.number(ofRoom: "room")) room \($0)" }
                    + ["\(LogLayout(generation: 2, count: 2).number(ofRoom: "room")) room 1"]
                    + (1...3).map { "\(new.number(ofRoom: "room")) room \($0)" })
            #expect(consumer.begins.items.count == begins, "nothing was lost that it would have to know")
            let positions = try await positions(context)
            #expect(positions.count == 8 && positions.allSatisfy { $0.hasPrefix("notes.30") })
        }
    }
}
