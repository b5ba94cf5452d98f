import ParlorJSON
import ParlorReactor
import TestClients

/// `GET /api/rooms/my-rooms` of people with ten to ten thousand rooms, each time with a new message in one of them.
/// The people take turns.
struct GrowthOfLists {
    let program: OwnServer.Program
    let loop: EventLoop

    private static let sizes = [10, 100, 1000, 10_000]
    private static let rounds = 20

    func measure() async throws -> Row {
        let server = try OwnServer(program, data: "lists")
        defer { server.stop() }
        let fixture = Fixture(server: server.address, loop: loop)
        let people = try await fixture.register(Self.sizes.count + 1)
        let other = people[Self.sizes.count]
        var rooms: [[String]] = []
        for (size, person) in zip(Self.sizes, people) {
            rooms.append(try await fixture.makeRooms(size, of: person, with: other))
        }
        var latencies = [Latencies](repeating: Latencies(), count: Self.sizes.count)
        var faults: [String] = []
        for round in 0..<Self.rounds {
            for (index, size) in Self.sizes.enumerated() {
                let text = JSONWriter.object { $0.member("text", "Something new.") }
                let room = rooms[index][round % size]
                try await fixture.data(
                    of: [HTTPCall("POST", "/api/rooms/\(room)/messages", token: other.token, body: text)])
                let client = try await fixture.connect()
                let start = LoopInstant.now()
                let call = HTTPCall("GET", "/api/rooms/my-rooms", token: people[index].token)
                let answers = try await HTTPBatch([call], on: [client]).run()
                latencies[index].record(since: start)
                client.close()
                let found = try answers.first?.data().array
                if found?.count != size || found?.first?["id"]?.string != room {
                    faults.append("not the \(size) rooms")
                }
            }
        }
        let times = latencies.map { $0.quantile(0.5) }
        let shares = zip(times, Self.sizes).map { $0 / Double($1) }
        return Row(
            name: "growth: my-rooms with something new, by rooms",
            figures: zip(Self.sizes, times).map { Figure("p50, \($0)", $1, .milliseconds) } + [
                Figure("a room of 10000 to one of 1000", shares[3] / shares[2], .timeRatio),
                Figure("a room of 10000 to one of 100", shares[3] / shares[1], .timeRatio),
            ], faults: faults)
    }
}
