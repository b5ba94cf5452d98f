import ParlorContracts
import ParlorJSON
import Testing

@testable import ParlorGateway

@Suite("A gateway's metrics", .timeLimit(.minutes(1)))
struct GatewayMetricsTests {
    @Test("the metrics cover acks, those for a failed service, and how far and when each log was fanned out")
    func counts() async throws {
        // One loop: what an event is followed by has been counted when the next request comes.
        try await GatewayHarness.run(loops: 1) { harness in
            let client = try await harness.connect()
            harness.chat.on("chat.send", error: .roomNotFound)
            _ = try await client.ask("chat:send", "{}")
            harness.chat.on("chat.send", error: .unavailable("This"))
            _ = try await client.ask("chat:send", "{}")
            for _ in 0..<3 { harness.chat.emit([Emission(to: .everyone, "to:all", .emptyObject)]) }
            for _ in 0..<3 { #expect(try await client.next() == .event("to:all", .emptyObject)) }

            let lines = Set(try await harness.request("GET", "/metrics", as: nil).body.split(separator: "\n"))
            for line in [
                "parlor_ack_seconds_count 2", "parlor_ack_failures_total 1", "parlor_fanout_seconds_count 3",
                "parlor_followed_seq{service=\"chat\"} 3.0",
            ] { #expect(lines.contains(line[...]), "\(line)") }
        }
    }
}
