import ParlorJSON
import ParlorReactor
import TestClients

/// `message:send` with its ack, one in flight, beside the disk's own time to sync a page.
struct SendAlone {
    let fixture: Fixture
    let sends: Int
    /// The folder in which to measure the disk; nil to leave it out.
    let syncFolder: String?

    /// The two are measured in turns, so that a change in the disk's speed affects both.
    private static let rounds = 10
    private static let syncsPerRound = 40

    func measure() async throws(ClientError) -> Row {
        let people = try await fixture.register(2)
        let room = try await fixture.makeRooms(1, of: people[0], with: people[1])[0]
        let socket = try await RoomSocket.join(room, as: people[0], in: fixture)
        defer { socket.close() }

        var syncs: SyncTimes?
        if let syncFolder { syncs = try SyncTimes(in: syncFolder) }
        for round in 0..<Self.rounds {
            for _ in (sends * round / Self.rounds)..<(sends * (round + 1) / Self.rounds) { try await socket.send() }
            try syncs?.measure(times: Self.syncsPerRound)
        }

        var figures = socket.latencies.figures()
        if let syncs {
            figures += syncs.latencies.figures(named: "fdatasync ")
            let above = socket.latencies.quantile(0.5) - syncs.latencies.quantile(0.5)
            figures.append(Figure("ack above fsync", above, .milliseconds))
            // The fastest tenth: the others wait for what other programs write to the disk.
            let ratio = socket.latencies.quantile(0.1) / syncs.latencies.quantile(0.1)
            figures.append(Figure("p10 to fdatasync's", ratio, .timeRatio))
        }
        return Row(
            name: "message:send with its ack, one in flight, \(sends) sends", figures: figures,
            faults: socket.ledger.faults(sent: sends))
    }
}
