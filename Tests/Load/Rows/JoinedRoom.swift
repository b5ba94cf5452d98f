import ParlorJSON
import ParlorReactor
import TestClients

/// A room that a thousand sockets have joined: each gets every message, and `message:new:global` after it.
struct JoinedRoom {
    static let sockets = 1000

    let fixture: Fixture
    let floor: ServerAddress
    /// The number of messages that some of the sockets have not received yet.
    let inFlight: Int
    let seconds: Int

    func measure() async throws -> Row {
        let people = try await fixture.register(2)
        let room = try await fixture.makeRooms(1, of: people[0], with: people[1])[0]
        let writer = try await fixture.connect(as: people[0])
        defer { writer.close() }
        var acks = Latencies()

        let audience = FanOutAudience(size: Self.sockets)
        try await audience.enter(fixture.server, .joined(room: room, token: people[1].token), on: fixture.loop)
        let before = try await ServerCounters.soFar(in: fixture)
        let run = FanOutRun(audience, on: fixture.loop) { _ in
            let start = LoopInstant.now()
            writer.emit("message:send", .newMessage(in: room)) { _ in acks.record(since: start) }
        }
        let rate = await run.deliveriesPerSecond(inFlight: inFlight, for: .seconds(seconds))
        let work = try await ServerCounters.soFar(in: fixture) - before
        audience.close()

        let (floorRate, floorFaults) = try await audience.atFloor(floor, on: fixture.loop) { bound, send in
            let limit = FanOutRun(bound, on: fixture.loop, send: send)
            let rate = await limit.deliveriesPerSecond(inFlight: inFlight, for: .seconds(seconds))
            return (rate, bound.faults(sent: limit.sent))
        }

        var figures = [
            Figure("deliveries", rate, .perSecond), Figure("floor", floorRate, .perSecond),
            Figure("to the floor", rate / floorRate, .ratio),
        ]
        // Of the services, messaging alone commits meanwhile.
        if let commits = work["parlor_database_commits_total"], commits > 0 {
            figures.append(Figure("messages a commit", Double(run.sent) / Double(commits), .tailRatio))
            if let writes = work["parlor_socket_writes_total"] {
                let rounds = Double(writes) / Double(Self.sockets * commits)
                figures.append(Figure("write rounds a commit", rounds, .timeRatio))
            }
        }
        figures += acks.figures(named: "sender's ack ")
        return Row(
            name: "a room with \(Self.sockets) joined sockets, \(inFlight) in flight", figures: figures,
            faults: audience.faults(sent: run.sent) + floorFaults.map { "floor: \($0)" })
    }
}
