import ParlorJSON
import ParlorReactor
import TestClients

/// Processor time per delivery of `message:new:global` to a hundred up to fifteen thousand sockets,
/// beside that of `bench-floor` for the same bytes.
struct GrowthOfAudiences {
    let program: OwnServer.Program
    let floor: ServerAddress
    let floorProcess: Int
    let seconds: Int
    let loop: EventLoop

    private static let sizes = [100, 1000, 5000, 15_000]
    private static let inFlight = 4
    /// The index of the smallest audience to which a turn's events are sent together. Larger ones
    /// should cost no more.
    private static let batched = 1

    func measure() async throws -> Row {
        let largest = Self.sizes[Self.sizes.count - 1]
        try FanOutAudience.reserveDescriptors(for: largest)
        var (own, bound): ([Double], [Double]) = ([], [])
        var faults: [String] = []
        for size in Self.sizes {
            let outcome = try await measure(size)
            own.append(outcome.own)
            bound.append(outcome.floor)
            faults += outcome.faults.map { "\(size) sockets: \($0)" }
        }
        let last = Self.sizes.count - 1
        let (growth, least) = (own[last] / own[Self.batched], bound[last] / bound[Self.batched])
        return Row(
            name: "growth: processor time for a delivery, by sockets",
            figures: Self.sizes.indices.flatMap { index in
                [
                    Figure("ns of \(Self.sizes[index])", Int(own[index] * 1e9)),
                    Figure("floor's of \(Self.sizes[index])", Int(bound[index] * 1e9)),
                ]
            } + [
                Figure("from \(Self.sizes[Self.batched]) to \(largest)", growth, .timeRatio),
                Figure("the floor's", least, .timeRatio), Figure("to the floor's growth", growth / least, .timeRatio),
            ], faults: faults)
    }

    /// Returns seconds of processor time per delivery.
    private func measure(_ size: Int) async throws -> (own: Double, floor: Double, faults: [String]) {
        let server = try OwnServer(program, data: "crowd")
        defer { server.stop() }
        let fixture = Fixture(server: server.address, loop: loop)
        let people = try await fixture.register(3)
        let room = try await fixture.makeRooms(1, of: people[0], with: people[1])[0]
        let writer = try await fixture.connect(as: people[0])
        defer { writer.close() }
        let audience = FanOutAudience(size: size)
        try await audience.enter(fixture.server, .socketIO(token: people[2].token), on: loop)
        let own = try await time(for: audience, server.process) { _ in
            writer.emit("message:send", .newMessage(in: room)) { _ in }
        }
        audience.close()

        let least = try await audience.atFloor(floor, on: loop) { try await time(for: $0, floorProcess, send: $1) }
        return (own.seconds, least.seconds, own.faults + least.faults.map { "floor: \($0)" })
    }

    private func time(
        for audience: FanOutAudience, _ process: Int, send: @escaping (Int) -> Void
    ) async throws -> (seconds: Double, faults: [String]) {
        let run = FanOutRun(audience, on: loop, send: send)
        let before = ProcessorTime.used(by: process)
        _ = await run.deliveriesPerSecond(inFlight: Self.inFlight, for: .seconds(seconds))
        guard let before, let after = ProcessorTime.used(by: process) else {
            throw ClientError("process \(process) is not there")
        }
        return ((after - before) / Double(max(audience.deliveries, 1)), audience.faults(sent: run.sent))
    }
}
