import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("The status of a running system", .timeLimit(.minutes(1)))
struct StatusTests {
    private let reports = [
        StatusReport(
            part: "messaging", instance: "host/1", uptime: .seconds(90), figures: [.init("queued", 7)],
            positions: [.init("messaging", 100)]),
        StatusReport(
            part: "gateway", instance: "host/22", uptime: .seconds(7300), figures: [.init("sockets", 5000)],
            positions: [.init("messaging", 97)]),
        StatusReport(
            part: "gateway", instance: "host/3", uptime: .seconds(200_000), figures: [.init("sockets", 2)],
            positions: [.init("messaging", 100)]),
    ]

    @Test("parts of one kind share a table, and each shows how far it is behind the log's head")
    func tables() {
        #expect(
            StatusTables(reports).lines == [
                """
                part     instance   up  sockets  messaging behind
                gateway  host/22   2 h     5000                 3
                gateway  host/3    2 d        2                 0

                """,
                """
                part       instance    up  queued  messaging behind
                messaging  host/1    90 s       7                 0

                """,
            ])
    }

    @Test("what a peer reports can neither end the command nor control the terminal")
    func hostile() throws {
        let text = """
            {"part":"x\\u001b[2J","instance":"y\\n","seconds":1,"figures":{"\\u0007":1},"places":{"a":\(Int.min)}}
            """
        let report = try #require(StatusReport(try JSONValue(parsing: Array(text.utf8))))
        let ahead = StatusReport(part: "z", instance: "", uptime: .zero, positions: [.init("a", .max)])
        let lines = StatusTables([report, ahead]).lines
        #expect(lines.count == 2 && lines[0].contains("\(UInt.max)"))
        #expect(lines[0].hasPrefix("part") && lines[0].contains("x?[2J") && lines[0].contains("y?"))
        #expect(!lines.joined().unicodeScalars.contains { $0.value < 32 && $0 != "\n" })
    }

    @Test("a report decodes as it was encoded", arguments: 0..<3)
    func readsBack(index: Int) {
        #expect(StatusReport(reports[index].json) == reports[index])
    }

    @Test("a service reports its queue, and its log's head")
    func service() async throws {
        let (harness, entered, gate) = try await HostHarness.holding()
        try await harness.append()
        async let slow = harness.ask("test.wait")
        await entered.passed()
        let status = harness.host.status
        #expect(status.part == "test")
        #expect(status.figures.contains(.init("in progress", 1)))
        #expect(status.positions == [.init("test", 1)])
        gate.open()
        _ = try await slow
        await harness.stop()
    }
}
