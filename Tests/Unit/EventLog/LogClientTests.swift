import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceClient
import ParlorTestSupport
import Testing

@testable import ParlorEventLog

@Suite("Asking a log's owner")
struct LogClientTests {
    private let bus = InProcessBus()
    private let client: LogClient

    private static let page = LogPage(
        head: LogPosition(databaseID: "d", seq: 2, digest: 7), oldest: 1, isKnown: true,
        entries: [
            LogEntry(
                seq: 1, at: Timestamp(milliseconds: 5), roomID: "r", participants: ["x"],
                emissions: [Emission(to: .room, "a", .emptyObject)], fact: .messagesRead(userID: "x")),
            LogEntry(seq: 2, at: Timestamp(milliseconds: 6), roomID: "r", participants: [], emissions: []),
        ], through: 2)

    init() { client = LogClient(bus, requestID: "test", owner: "It") }

    private func answer(_ payload: any BusPayload) throws -> BusSubscription {
        try bus.respond(to: "notes.events", queue: "notes") { $0.reply(payload) }
    }

    @Test("it gets the owner's own entries within a process, and equal ones over a wire")
    func page() async throws {
        let answer = LogPage.Payload(Self.page)
        #expect(answer.maxBytes >= answer.json.bytes.count)
        var serving = try self.answer(answer)
        let own = try await client.page(of: "notes", LogQuery(since: 0))
        #expect(zip(own.entries, Self.page.entries).allSatisfy { $0 === $1 })
        serving.cancel()
        serving = try self.answer(answer.json)
        let read = try await client.page(of: "notes", LogQuery(since: 0))
        #expect(read.entries == Self.page.entries && read.entries.map(\.fact) == Self.page.entries.map(\.fact))
        #expect(read.head == Self.page.head && read.oldest == 1 && read.isKnown && read.through == 2)
        #expect(read.json == Self.page.json)
        serving.cancel()
    }

    @Test("if a page is too long for the bus, one of half as many entries is requested, down to one")
    func tooLong() async throws {
        let limits = Collector<Int?>()
        let long = JSONValue(String(repeating: "x", count: BusLimits.maxLine))
        let serving = try bus.respond(to: "notes.events", queue: "notes") { request in
            let limit = request.data["limit"]?.int
            limits.add(limit)
            if limit ?? 500 > 40 { request.reply(long) } else { request.reply(LogPage.Payload(Self.page)) }
        }
        #expect(try await client.page(of: "notes", LogQuery(since: 0)).entries.count == 2)
        #expect(limits.items == [nil, 250, 125, 62, 31])
        serving.cancel()
        let never = try answer(long)
        await #expect(throws: ServiceError.self) { try await client.page(of: "notes", LogQuery(limit: 3)) }
        never.cancel()
    }

    @Test("the owner's error is thrown; an owner that is down, or whose reply makes no sense, is unreachable")
    func errors() async throws {
        let away = ServiceError.unavailable("It")
        await #expect(throws: away) { try await client.page(of: "notes", .head) }
        for answer in [Reply(.ok, .emptyObject), Reply(.ok, .emptyArray)] as [any BusPayload] {
            let serving = try self.answer(answer)
            await #expect(throws: away) { try await client.page(of: "notes", .head) }
            serving.cancel()
        }
        let refusal = ServiceError(.forbidden, "No.")
        for answer in [refusal, refusal.json] as [any BusPayload] {
            let serving = try self.answer(answer)
            await #expect(throws: refusal) { try await client.page(of: "notes", .head) }
            serving.cancel()
        }
    }

    @Test("the heads are those of the owners that answer")
    func heads() async throws {
        _ = try answer(LogPage.Payload(Self.page))
        #expect(await client.heads(of: ["letters", "notes"]) == ["notes": Self.page.head])
    }

    @Test("a request has the members that it was made with, and no others")
    func question() {
        #expect(LogQuery.head.json.text == #"{"since":0,"limit":0}"#)
        let position = LogPosition(databaseID: "d", seq: 3, digest: 9)
        let query = LogQuery(after: position, through: 8, roomIDs: ["a", "b"], limit: 4)
        #expect(query.json.text == #"{"since":3,"digest":9,"through":8,"roomIds":["a","b"],"limit":4}"#)
    }
}
