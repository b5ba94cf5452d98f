import ParlorJSON
import ParlorReactor
import TestClients

/// Durable sends from many sockets at once, two in a room: the number acknowledged per second, and
/// whether each reaches both sockets of its room, once and in order.
struct SendTogether {
    struct Load {
        let senders: Int
        let inFlight: Int
        let seconds: Int
        /// The number of sockets of a stranger, who is in none of the rooms. They get events of all
        /// rooms if `GLOBAL_SCOPE` is `everyone`.
        var listeners = 0
    }

    let fixture: Fixture
    let load: Load
    /// The folder in which to measure the disk before and after; nil to leave it out.
    let syncFolder: String?

    private static let syncs = 100

    func measure() async throws(ClientError) -> Row {
        let sockets = try await enter()
        defer { for socket in sockets { socket.close() } }
        let audience = FanOutAudience(size: load.listeners)
        defer { audience.close() }
        if load.listeners > 0 {
            let stranger = try await fixture.register(1)[0]
            try await audience.enter(fixture.server, .socketIO(token: stranger.token), on: fixture.loop)
        }
        var syncs: SyncTimes?
        if let syncFolder { syncs = try SyncTimes(in: syncFolder) }
        try syncs?.measure(times: Self.syncs)
        let storm = SendStorm(sockets, inFlight: load.inFlight, loop: fixture.loop)
        try await storm.run(for: .seconds(load.seconds))
        try syncs?.measure(times: Self.syncs)

        let acknowledged = sockets.reduce(0) { $0 + $1.acknowledged }
        await audience.receivedAll(acknowledged, on: fixture.loop)
        let delivered = sockets.reduce(0) { $0 + $1.ledger.delivered }
        let globals = sockets.reduce(0) { $0 + $1.globals }
        let latencies = sockets.reduce(into: Latencies()) { $0.add($1.latencies) }
        let rate = Double(acknowledged) / storm.sendingSeconds
        var figures = [Figure("acknowledged", rate, .perSecond)]
        if let sync = syncs?.latencies.quantile(0.1) {
            figures.append(Figure("in the time of a fast fdatasync", rate * sync / 1000, .ratio))
        }
        figures += latencies.figures()
        figures.append(Figure("sent", acknowledged))
        figures.append(Figure("message:new delivered", delivered))
        figures.append(Figure("message:new:global delivered", globals + audience.deliveries))
        let listening = load.listeners > 0 ? ", \(load.listeners) others listening" : ""
        return Row(
            name: "message:send, \(load.senders) sockets in \(load.senders / 2) rooms, \(load.inFlight) in flight each"
                + listening,
            figures: figures,
            faults: storm.faults + audience.faults(sent: load.listeners > 0 ? acknowledged : 0))
    }

    /// Creates two people for each room, both in it.
    private func enter() async throws(ClientError) -> [RoomSocket] {
        let people = try await fixture.register(load.senders)
        var sockets: [RoomSocket] = []
        for index in stride(from: 0, to: people.count, by: 2) {
            let (one, other) = (people[index], people[index + 1])
            let room = try await fixture.makeRooms(1, of: one, with: other)[0]
            for person in [one, other] { sockets.append(try await RoomSocket.join(room, as: person, in: fixture)) }
        }
        return sockets
    }
}
