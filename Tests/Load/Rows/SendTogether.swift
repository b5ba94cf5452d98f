import JSON
import Reactor
import TestClients

/// Durable sends from many sockets at once, two in a room: how many are acknowledged in a second, and whether each
/// reaches both sockets of its room, once and in order.
struct SendTogether {
    struct Load {
        let senders: Int
        let inFlight: Int
        let seconds: Int
    }

    let world: World
    let load: Load
    /// Where to measure what the disk takes to make a page safe, before and after; nil: it is left out.
    let syncFolder: String?

    private static let syncs = 100

    func measure() async throws(ClientError) -> Row {
        let sockets = try await enter()
        defer { for socket in sockets { socket.close() } }
        var syncs: SyncTimes?
        if let syncFolder { syncs = try SyncTimes(in: syncFolder) }
        try syncs?.measure(times: Self.syncs)
        let storm = SendStorm(sockets, inFlight: load.inFlight, loop: world.loop)
        try await storm.run(for: .seconds(load.seconds))
        try syncs?.measure(times: Self.syncs)

        let acknowledged = sockets.reduce(0) { $0 + $1.acknowledged }
        let delivered = sockets.reduce(0) { $0 + $1.ledger.delivered }
        let globals = sockets.reduce(0) { $0 + $1.globals }
        let latencies = sockets.reduce(into: Latencies()) { $0.add($1.latencies) }
        let rate = Double(acknowledged) / storm.sendingSeconds
        var figures = [Figure("acknowledged", rate, .perSecond)]
        if let sync = syncs?.latencies.quantile(0.1) {
            figures.append(Figure("in the time of a fast fdatasync", rate * sync / 1000, .ratio))
        }
        return Row(
            name: "message:send, \(load.senders) sockets in \(load.senders / 2) rooms, \(load.inFlight) in flight each",
            figures: figures
                + latencies.figures() + [
                    Figure("sent", acknowledged), Figure("message:new delivered", delivered),
                    Figure("message:new:global delivered", globals),
                ],
            faults: storm.faults)
    }

    /// Two people for each room, both in it.
    private func enter() async throws(ClientError) -> [RoomSocket] {
        let people = try await world.register(load.senders)
        var sockets: [RoomSocket] = []
        for index in stride(from: 0, to: people.count, by: 2) {
            let (one, other) = (people[index], people[index + 1])
            let room = try await world.makeRooms(1, of: one, with: other)[0]
            for person in [one, other] { sockets.append(try await RoomSocket.join(room, as: person, in: world)) }
        }
        return sockets
    }
}
