import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("Instances that share a service's logs", .timeLimit(.minutes(1)))
struct LogSharesTests {
    private static let logs = LogLayout(generation: 1, count: 4).logs(of: "notes")

    private func instance(
        _ id: String, on bus: any MessageBus, _ served: Collector<String> = Collector(),
        every interval: Duration = .seconds(3600)
    ) throws -> LogShares {
        let shares = LogShares(of: Self.logs, service: "notes", id: id, on: bus, every: interval) { request in
            served.add("\(id) \(request.subject)")
            request.reply(Reply())
        }
        try shares.start()
        return shares
    }

    private func numbers(_ shares: LogShares) -> [Int] { shares.served.map(\.number) }

    /// Waits until the instances serve these logs.
    private func wait(_ shares: LogShares, for numbers: [Int]) async {
        while self.numbers(shares) != numbers { await Task.yield() }
    }

    @Test("one instance serves all logs, two have half of them each, and what one leaves the other takes at once")
    func shared() async throws {
        let bus = FakeBus(hasKeyAffinity: false)
        let first = try instance("a", on: bus)
        await wait(first, for: [100, 101, 102, 103])
        let second = try instance("b", on: bus)
        await wait(first, for: [100, 102])
        await wait(second, for: [101, 103])
        await first.stop()
        await wait(second, for: [100, 101, 102, 103])
        await second.stop()
        #expect(bus.openPatterns.isEmpty)
    }

    @Test("the logs of an instance that is silent are taken by the other")
    func silent() async throws {
        let bus = FakeBus(hasKeyAffinity: false)
        let first = try instance("a", on: bus, every: .milliseconds(200))
        await wait(first, for: [100, 101, 102, 103])
        try bus.publish(Subject.instances(of: "notes"), try JSONValue(parsing: #"{"instance":"b"}"#))
        #expect(numbers(first) == [100, 102])
        await wait(first, for: [100, 101, 102, 103])
        await first.stop()
    }

    @Test("requests for a log reach the instance that serves it, with the log's number in the subject")
    func requests() async throws {
        let (bus, served) = (FakeBus(hasKeyAffinity: false), Collector<String>())
        let first = try instance("a", on: bus, served)
        let second = try instance("b", on: bus, served)
        await wait(first, for: [100, 102])
        await wait(second, for: [101, 103])
        for logID in Self.logs {
            let subject = Subject.request("notes.write", in: logID)
            _ = try await bus.request(subject, .emptyObject, BusContext(requestID: "test"))
        }
        #expect(served.items == ["a notes.100.write", "b notes.101.write", "a notes.102.write", "b notes.103.write"])
        await first.stop()
        await second.stop()
    }

    @Test("something else on the subject changes nothing", arguments: ["7", "{}", #"{"instance":7}"#])
    func malformed(json: String) async throws {
        let bus = FakeBus(hasKeyAffinity: false)
        let shares = try instance("a", on: bus)
        await wait(shares, for: [100, 101, 102, 103])
        try bus.publish(Subject.instances(of: "notes"), try JSONValue(parsing: json))
        #expect(numbers(shares) == [100, 101, 102, 103])
        await shares.stop()
    }
}
