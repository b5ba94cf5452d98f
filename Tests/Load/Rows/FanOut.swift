import ParlorJSON
import ParlorReactor
import TestClients

/// `message:new:global` to everyone connected, sent by one person and received by strangers, and the same bytes through
/// `bench-floor`, which does nothing else.
struct FanOut {
    struct Load {
        let sockets: Int
        let inFlight: Int
        let seconds: Int
        /// The rate at which latencies are measured, for both.
        var deliveriesPerSecond = 50_000.0
    }

    private struct Outcome {
        let rate: Double
        let latencies: Latencies
        let faults: [String]
    }

    let fixture: Fixture
    let floor: ServerAddress
    /// The process that holds the sockets, whose memory per idle socket is measured; nil if it is
    /// unknown.
    let serverProcess: Int?
    let load: Load

    func measure() async throws -> Row {
        let people = try await fixture.register(3)
        let room = try await fixture.makeRooms(1, of: people[0], with: people[1])[0]
        let writer = try await fixture.connect(as: people[0])
        defer { writer.close() }

        let audience = FanOutAudience(size: load.sockets)
        let before = serverProcess.flatMap(ProcessMemory.resident)
        try await audience.enter(fixture.server, .socketIO(token: people[2].token), on: fixture.loop)
        let after = serverProcess.flatMap(ProcessMemory.resident)
        var acks = Latencies()
        let outcome = await run(
            audience, beforePacing: { acks = Latencies() },
            send: { _ in
                let start = LoopInstant.now()
                writer.emit("message:send", .newMessage(in: room)) { _ in acks.record(since: start) }
            })
        audience.close()

        let limit = try await audience.atFloor(floor, on: fixture.loop) { bound, send in await run(bound, send: send) }

        var figures = [
            Figure("deliveries", outcome.rate, .perSecond), Figure("floor", limit.rate, .perSecond),
            Figure("to the floor", outcome.rate / limit.rate, .ratio),
        ]
        figures += outcome.latencies.figures() + limit.latencies.figures(named: "floor ")
        figures.append(Figure("p50 to the floor", Self.ratio(outcome, limit, 0.5), .timeRatio))
        figures.append(Figure("p99 to the floor", Self.ratio(outcome, limit, 0.99), .tailRatio))
        figures += acks.figures(named: "sender's ack ")
        if let before, let after {
            figures.append(Figure("bytes for an idle socket", (after - before) / load.sockets))
        }
        return Row(
            name: "fan-out to \(load.sockets) sockets, \(load.inFlight) in flight", figures: figures,
            faults: outcome.faults + limit.faults.map { "floor: \($0)" })
    }

    private func run(
        _ audience: FanOutAudience, beforePacing: () -> Void = {}, send: @escaping (Int) -> Void
    ) async -> Outcome {
        let run = FanOutRun(audience, on: fixture.loop, send: send)
        let rate = await run.deliveriesPerSecond(inFlight: load.inFlight, for: .seconds(load.seconds))
        beforePacing()
        let latencies = await run.latencies(
            messagesPerSecond: load.deliveriesPerSecond / Double(load.sockets), for: .seconds(load.seconds))
        return Outcome(rate: rate, latencies: latencies, faults: audience.faults(sent: run.sent))
    }

    private static func ratio(_ one: Outcome, _ other: Outcome, _ share: Double) -> Double {
        one.latencies.quantile(share) / other.latencies.quantile(share)
    }
}
