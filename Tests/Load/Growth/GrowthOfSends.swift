import ParlorJSON
import ParlorReactor
import TestClients

/// `message:send` in rooms of a hundred to a million messages of one large database, and in a room
/// of a hundred that is nearly the whole database. In turns, one in flight.
struct GrowthOfSends {
    let program: OwnServer.Program
    /// The number of messages in the large database.
    let messages: Int
    let loop: EventLoop

    private static let sizes = [100, 1000, 10_000, 100_000, 1_000_000]
    /// The number of rooms with the rest of the large database's messages.
    private static let otherRooms = 1000
    private static let rounds = 20
    private static let sendsInARound = 50

    /// A socket in a room.
    private final class Sender {
        let name: String
        let socket: SocketIOClient
        let room: String
        var latencies = Latencies()

        init(_ name: String, _ socket: SocketIOClient, in room: String) {
            self.name = name
            self.socket = socket
            self.room = room
        }

        func send() async throws {
            let start = LoopInstant.now()
            try await socket.call("message:send", .newMessage(in: room))
            latencies.record(since: start)
        }
    }

    /// A server on its data, with the rooms to measure.
    private struct Furnished {
        let server: OwnServer
        let sender: Person
        /// The rooms, with their names.
        let rooms: [(name: String, id: String)]
    }

    func measure() async throws -> Row {
        let small = try await furnish("small", [Self.sizes[0]], others: 0)
        defer { small.server.stop() }
        let sizes = Self.sizes.filter { $0 <= messages }
        let large = try await furnish("large", sizes, others: max(messages - sizes.reduce(0, +), 0))
        defer { large.server.stop() }
        // Connected only now: filling a database leaves a socket's pings unanswered.
        let senders = try await enter(small) + enter(large)
        for _ in 0..<Self.rounds {
            for sender in senders { for _ in 0..<Self.sendsInARound { try await sender.send() } }
        }
        for sender in senders { sender.socket.close() }
        let times = senders.map { $0.latencies.quantile(0.5) }
        return Row(
            name: "growth: message:send, one in flight, by messages in the room",
            figures: zip(senders, times).map { Figure("p50, \($0.name)", $1, .milliseconds) } + [
                Figure("the large database to the small", times[1] / times[0], .timeRatio),
                Figure("the largest room to the smallest", times[times.count - 1] / times[1], .timeRatio),
            ])
    }

    private func furnish(_ name: String, _ sizes: [Int], others: Int) async throws -> Furnished {
        let empty = try OwnServer(program, data: name)
        let fixture = Fixture(server: empty.address, loop: loop)
        let people = try await fixture.register(2)
        let rooms = try await fixture.makeRooms(sizes.count, of: people[0], with: people[1])
        let otherRooms = try await fixture.makeRooms(others > 0 ? Self.otherRooms : 0, of: people[0], with: people[1])
        empty.stop()
        var past = try PastMessages(inDataOf: "\(program.folder)/\(name)")
        for (room, size) in zip(rooms, sizes) { try past.add(size, to: room, from: people[0], to: people[1]) }
        for room in otherRooms { try past.add(others / otherRooms.count, to: room, from: people[0], to: people[1]) }
        past.close()
        let all = sizes.reduce(others, +)
        return Furnished(
            server: try OwnServer(program, data: name), sender: people[0],
            rooms: zip(sizes, rooms).map { ("\($0) of \(all)", $1) })
    }

    private func enter(_ furnished: Furnished) async throws -> [Sender] {
        let fixture = Fixture(server: furnished.server.address, loop: loop)
        var senders: [Sender] = []
        for (name, room) in furnished.rooms {
            let socket = try await fixture.connect(as: furnished.sender)
            try await socket.call("room:join", JSONWriter.object { $0.member("roomId", room) })
            senders.append(Sender(name, socket, in: room))
        }
        return senders
    }
}
