import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorServiceClient
import ParlorTestSupport
import Testing

@Suite("Malformed entries of a log", .timeLimit(.minutes(1)))
struct MalformedEntryTests {
    private let bus = FakeBus()
    private let log = CapturedLog()
    private let head = LogPosition(databaseID: "d", seq: 1, digest: 7)

    private var warnings: Int { log.lines.count { $0.contains("an entry of its log is malformed") } }

    /// Serves a log whose only entry is malformed.
    private func serve() throws -> Collector<BusRequest> {
        let asked = Collector<BusRequest>()
        let page = LogPage(head: head, oldest: 1, isKnown: true, entries: [], through: 1).json.text
        let odd = try JSONValue(parsing: page.replacing(#""entries":[]"#, with: #""entries":[{"seq":1}]"#))
        try bus.respond(to: "notes.events", queue: "notes") { request in
            asked.add(request)
            request.reply(Reply(.ok, odd).json)
        }
        return asked
    }

    /// Runs a test with a follower from the log's start, and what it has delivered.
    private func following(_ test: (LogFollower, Collector<LogEntry>) async throws -> Void) async throws {
        let group = try EventLoopGroup(loopCount: 1)
        let delivered = Collector<LogEntry>()
        let follower = LogFollower(
            "notes", bus: bus, on: group.loops[0], log: log.logger,
            deliver: { for entry in $0 { delivered.add(entry) } })
        try follower.start()
        follower.announced(LogPosition(databaseID: "d", seq: 0, digest: 0))
        try await test(follower, delivered)
        follower.stop()
        await finish(group)
    }

    @Test("a page without them is returned, and a line is logged")
    func page() async throws {
        _ = try serve()
        let client = LogClient(bus, requestID: "test", owner: "It", faults: ReplyFaults(log: log.logger))
        for _ in 1...2 { #expect(try await client.page(of: "notes", LogQuery()).entries.isEmpty) }
        #expect(warnings == 1)
    }

    @Test("numbers with which sums could overflow are refused at the border", arguments: [-1, 1 << 53, .max])
    func numbers(number: Int) {
        let entry = LogEntry(
            seq: number, at: Timestamp(milliseconds: 0), roomID: "", participants: [], emissionsJSON: .emptyArray)
        #expect(LogEntry(entry.json) == nil)
        #expect(LogPage(LogPage(head: head, oldest: number, isKnown: true, entries: [], through: 1).json) == nil)
        #expect(LogPage(LogPage(head: head, oldest: 1, isKnown: true, entries: [], through: number).json) == nil)
        let position = LogPosition(databaseID: "d", seq: number, digest: 0)
        #expect(JSONWriter.object { position.writeMembers(to: &$0) }.object.flatMap(LogPosition.init) == nil)
    }

    @Test("a whole page of them is passed over, and the line names the log and the position")
    func wholePage() async throws {
        let last = LogEntry(
            seq: 3, at: Timestamp(milliseconds: 0), roomID: "", participants: [], emissionsJSON: JSONValue.emptyArray)
        let end = LogPosition(after: last, in: "d")
        let odd = LogPage(head: end, oldest: 1, isKnown: true, entries: [], through: 2).json.text
            .replacing(#""entries":[]"#, with: #""entries":[{"seq":1},2]"#)
        let good = LogPage(head: end, oldest: 1, isKnown: true, entries: [last], through: 3).json
        try bus.respond(to: "notes.events", queue: "notes") { request in
            request.reply(Reply(.ok, request.data["since"]?.int == 0 ? JSONValue(trusted: Array(odd.utf8)) : good).json)
        }
        try await following { follower, delivered in
            follower.announced(end)
            #expect(await delivered.first(1).map(\.seq) == [3])
            let lines = log.lines.filter { $0.contains("an entry of its log is malformed") }
            #expect(lines.count == 1 && lines[0].contains(#""name":"notes""#) && lines[0].contains("between 1 and 2"))
        }
    }

    @Test("one at the end of the log is passed over, and those that are published are logged")
    func follower() async throws {
        let asked = try serve()
        try await following { follower, delivered in
            for _ in 1...3 { try bus.publish("notes.log", JSONValue("?")) }
            #expect(warnings == 1)
            follower.announced(head)
            await asked.first(1)
            let next = LogEntry(
                seq: 2, at: Timestamp(milliseconds: 0), roomID: "", participants: [], emissionsJSON: .emptyArray)
            try bus.publish("notes.log", next.json)
            #expect(await delivered.first(1).map(\.seq) == [2])
            #expect(asked.items.count == 1)
        }
    }
}
