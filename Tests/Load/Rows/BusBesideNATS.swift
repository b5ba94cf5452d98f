import ParlorReactor
import TestClients

/// Parlor's broker and nats-server, in turns: events in writes of several sizes, and a request's round trip.
struct BusBesideNATS {
    let bus: ServerAddress
    /// The NATS server; nil if there is none.
    let nats: ServerAddress?
    let seconds: Int

    private static let rounds = 3
    private static let eventsInAWrite = [1, 16, 64]

    func measure() throws -> [Row] {
        var rows: [Row] = []
        for count in Self.eventsInAWrite { rows.append(try events(inAWrite: count)) }
        rows.append(try roundTrip())
        return rows
    }

    /// The duration of one turn.
    private var share: Duration { max(.seconds(seconds) / 5, .milliseconds(500)) }

    private func events(inAWrite count: Int) throws -> Row {
        let outcome = try inTurns { broker, encoder in
            try BusStream(broker: broker, encoder: encoder, eventsInAWrite: count).run(for: share)
        }
        return row(
            "events of \(BusEncoder.payloadLength) bytes, \(count) in a write",
            own: [Figure("heard", outcome.own, .perSecond)],
            peer: outcome.peer.map {
                [Figure("nats-server", $0, .perSecond), Figure("to nats-server", outcome.own / $0, .ratio)]
            },
            faults: outcome.faults)
    }

    private func roundTrip() throws -> Row {
        let outcome = try inTurns { broker, encoder in
            let (latencies, faults) = try BusRoundTrip(broker: broker, encoder: encoder).run(for: share)
            return (latencies.quantile(0.5), faults)
        }
        return row(
            "a request and its reply",
            own: [Figure("p50", outcome.own, .milliseconds)],
            peer: outcome.peer.map {
                [
                    Figure("nats-server p50", $0, .milliseconds),
                    Figure("p50 to nats-server's", outcome.own / $0, .timeRatio),
                ]
            },
            faults: outcome.faults)
    }

    private func row(_ name: String, own: [Figure], peer: [Figure]?, faults: [String]) -> Row {
        Row(
            name: "bus: \(name)\(peer == nil ? " (there is no nats-server)" : "")", figures: own + (peer ?? []),
            faults: faults)
    }

    /// Measures both in turns, and returns the medians.
    private func inTurns(
        _ measure: (ServerAddress, BusEncoder) throws -> (Double, [String])
    ) throws -> (own: Double, peer: Double?, faults: [String]) {
        var (own, peer): ([Double], [Double]) = ([], [])
        var faults: [String] = []
        for _ in 0..<Self.rounds {
            let (value, found) = try measure(bus, .parlor)
            own.append(value)
            faults += found
            guard let nats else { continue }
            let (other, foundThere) = try measure(nats, .nats)
            peer.append(other)
            faults += foundThere.map { "nats-server: \($0)" }
        }
        return (own.median ?? 0, peer.median, faults)
    }
}
