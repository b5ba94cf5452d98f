import GatewayTesting
import ParlorContracts
import ParlorEventLog
import ParlorGatewayCatalog
import ParlorGatewayPresence
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit
import ParlorTestSupport
import Synchronization
import Testing

@testable import ParlorDelivery

@Suite("The processing of a log's entries")
struct LogPipelineTests {
    /// Stands in for the loops, and records the state when they are called.
    private final class Sink: BroadcastSink {
        let events = Mutex<[String]>([])
        let backfilled = Arrivals<[Int]>()
        private let cache: RoomListCache
        private let metrics: Metrics

        init(_ cache: RoomListCache, _ metrics: Metrics) {
            self.cache = cache
            self.metrics = metrics
        }

        func add(_ event: String) { events.withLock { $0.append(event) } }

        private func addState(_ event: String) {
            let seq = cache.positions["chat"]?.seq ?? -1
            let isMeasured = metrics.text().contains("parlor_followed_seq{service=\"chat\"} \(seq).0")
            add("\(event), lists at \(seq)\(isMeasured ? ", measured" : "")")
        }

        func start(_ logID: LogID, after position: LogPosition) { addState("start \(logID) \(position.seq)") }

        func end(_ logID: LogID) { addState("end \(logID)") }

        func deliver(_ broadcasts: [Broadcast]) {
            addState(
                "deliver \(broadcasts.map(\.position.seq)) framed \(broadcasts.map { $0.items.map { $0.packet != nil } })"
            )
        }

        func backfill(_ logID: LogID, _ entries: [Broadcast], from start: LogPosition, to end: LogPosition) {
            backfilled.add([start.seq] + entries.map(\.position.seq) + [end.seq])
        }
    }

    private static let member = RoomMember(roomID: "r", userID: "ada")

    private static func entry(_ seq: Int, _ emissions: [Emission]) -> LogEntry {
        LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: "r", participants: ["ada", "bob"],
            emissionsJSON: emissions.json)
    }

    private func run(
        _ test: (LogPipeline, Sink, Presence, TestLoop, any MessageBus) async throws -> Void
    ) async throws {
        try await TestLoop.run { loop in
            let (bus, cache, metrics) = (InProcessBus(), RoomListCache(), Metrics())
            let sink = Sink(cache, metrics)
            let presence = Presence(
                gatewayID: "g", bus: bus, on: loop.loop, log: .silent, typingTimeout: .seconds(300)
            ) { change in
                sink.add("\(change.kind.rawValue) \(change.isOn ? "on" : "off")")
            }
            let pipeline = LogPipeline(
                sink: sink, cache: cache, fields: FieldCache(), presence: presence, missed: EntryFetcher(bus: bus),
                metrics: DeliveryMetrics(metrics, clock: ManualClock()), log: .silent)
            try await test(pipeline, sink, presence, loop, bus)
            await presence.stop()
        }
    }

    @Test("a loop gets entries after lists are stale, the position is measured and typing has ended")
    func order() async throws {
        try await run { pipeline, sink, presence, loop, _ in
            await presence.setTyping(true, Self.member, socketID: "1")
            let sent = Emission(to: .room, "message:new", JSONValue(1), endsTypingOf: "ada")
            let composed = Emission(to: .person("ada"), "room:badges", .emptyObject, composition: .badges)
            await loop.run {
                pipeline.start("chat", after: LogPosition(databaseID: "db", seq: 3, digest: 0))
                pipeline.receive([Self.entry(4, [sent]), Self.entry(5, [composed])], of: "chat")
                pipeline.receive([Self.entry(6, [])], of: "chat")
            }
            #expect(
                sink.events.withLock { $0 } == [
                    "typing on", "start chat 3, lists at 3, measured", "typing off",
                    "deliver [4, 5] framed [[true], [false]], lists at 5, measured",
                    "deliver [6] framed [[]], lists at 6, measured",
                ])
        }
    }

    @Test("entries before the position where following began are fetched for clients that return")
    func backfill() async throws {
        try await run { pipeline, sink, _, loop, bus in
            let entries = (1...3).map { Self.entry($0, [Emission(to: .room, "n", JSONValue($0))]) }
            let head = LogPosition(after: entries[2], in: "db")
            _ = try bus.respond(to: Subject.logPage(of: "chat"), queue: "chat") { request in
                let since = request.data["since"]?.int ?? 0
                let page = LogPage(
                    head: head, oldest: 1, isKnown: true, entries: entries.filter { $0.seq > since }, through: head.seq)
                request.reply(Reply(.ok, page.json).json)
            }
            await loop.run { pipeline.start("chat", after: head) }
            #expect(try await sink.backfilled.next() == [0, 1, 2, 3, 3])
        }
    }
}
