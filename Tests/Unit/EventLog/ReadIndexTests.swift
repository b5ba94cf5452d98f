import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorReactor
import ParlorTestSupport
import Synchronization
import Testing

@Suite("The heads of logs, asked once for all callers", .timeLimit(.minutes(1)))
struct ReadIndexTests {
    private let bus = InProcessBus()
    private let group: EventLoopGroup
    private let index: ReadIndex
    private let asked = Collector<BusRequest>()

    init() throws {
        group = try EventLoopGroup(loopCount: 1)
        index = ReadIndex(
            LogClient(bus, requestID: "test", owner: "It"), on: group.loops[0], maxWait: .seconds(60),
            pause: .seconds(60))
        try bus.respond(to: "notes.events", queue: "notes") { [asked] in asked.add($0) }
    }

    private static func head(_ seq: Int) -> LogPosition { LogPosition(databaseID: "d", seq: seq, digest: seq) }

    private func reply(to request: BusRequest, with seq: Int) {
        request.reply(
            LogPage.Payload(LogPage(head: Self.head(seq), oldest: 1, isKnown: true, entries: [], through: 0)))
    }

    @Test(
        "callers that arrive during a request share the next answer, and get none read before they called"
    )
    func rounds() async throws {
        async let first = index.heads(of: ["notes"])
        let early = await asked.first(1)[0]
        let others = [0, 1].map { _ in Task.immediate { await index.heads(of: ["notes"]) } }
        reply(to: early, with: 5)
        #expect(await first == ["notes": Self.head(5)])
        let late = await asked.first(2)
        reply(to: late[1], with: 7)
        for other in others { #expect(await other.value == ["notes": Self.head(7)]) }
        #expect(asked.items.count == 2)
        #expect(late[0].data["limit"]?.int == 0)
        group.shutdown()
    }

    @Test("an owner that does not answer is left out, and not asked for a while; others are asked meanwhile")
    func pause() async throws {
        #expect(await index.heads(of: ["letters"]) == [:])
        try bus.respond(to: "letters.events", queue: "letters") { [asked] in asked.add($0) }
        #expect(await index.heads(of: ["letters"]) == [:])
        #expect(asked.items.isEmpty)
        async let heads = index.heads(of: ["letters", "notes"])
        reply(to: await asked.first(1)[0], with: 5)
        #expect(await heads == ["notes": Self.head(5)])
        #expect(asked.items.map(\.subject) == ["notes.events"])
        group.shutdown()
    }
}
