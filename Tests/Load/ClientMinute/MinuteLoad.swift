import ParlorJSON
import ParlorReactor
import TestClients

/// What others do in an app's minute: they share rooms with its person, and send messages into one of them.
actor MinuteLoad {
    struct House: Sendable {
        let caller: Person
        let room: String
    }

    private let fixture: Fixture
    private let roomCount: Int
    private var other: Person?
    private var room = ""
    private var sent = 0

    nonisolated var unownedExecutor: UnownedSerialExecutor { fixture.loop.asUnownedSerialExecutor() }

    init(_ fixture: Fixture, rooms roomCount: Int) {
        self.fixture = fixture
        self.roomCount = roomCount
    }

    /// Makes the people and the rooms, with a message in each.
    func furnish() async throws(ClientError) -> House {
        let people = try await fixture.register(2)
        let rooms = try await fixture.makeRooms(roomCount, of: people[0], with: people[1])
        other = people[1]
        room = rooms[roomCount / 2]
        try await fixture.data(of: rooms.map { call(in: $0) })
        sent = 0
        return House(caller: people[0], room: room)
    }

    /// Sends messages into the room that the app shows, at even intervals, each after the answer to the one before.
    ///
    /// - Returns: the processor time of this thread meanwhile, in seconds.
    func send(_ count: Int, over time: Duration) async throws(ClientError) -> Double {
        let client = try await fixture.connect()
        defer { client.close() }
        let (start, used) = (LoopInstant.now(), ProcessorTime.usedByThisThread())
        for number in 1...count {
            _ = try await HTTPBatch([call(in: room)], on: [client]).run()[0].data()
            let due = start + time / count * number
            let left = due - LoopInstant.now()
            if left > .zero { await fixture.loop.pause(left) }
        }
        return ProcessorTime.usedByThisThread() - used
    }

    private func call(in room: String) -> HTTPCall {
        sent += 1
        let body = JSONWriter.object { $0.member("text", "Message \(sent), a line or two as people write them.") }
        return HTTPCall("POST", "/api/rooms/\(room)/messages", token: other?.token ?? "", body: body)
    }
}
