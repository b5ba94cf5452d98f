import Contracts
import EventLog
import JSON
import ServiceKit
import Storage

/// A small plugin: people vote in rooms, and see how many votes others cast. The gateway has never heard of it.
struct PollsService: Service {
    static let name = "polls"
    static let migrations = [
        Migration(
            version: 1, name: "votes",
            sql: "CREATE TABLE votes (room_id TEXT NOT NULL, person_id TEXT NOT NULL, choice TEXT NOT NULL)")
    ]

    private let context: ServiceContext

    init(_ context: ServiceContext) { self.context = context }

    var manifest: Manifest {
        Manifest(
            service: Self.name,
            routes: [Route("GET", "/api/rooms/:roomId/votes", "polls.count")],
            socketEvents: [SocketEvent("poll:vote", "polls.vote")],
            contribution: Contribution(
                subject: "polls.contribute", fields: [.init("badges.polls", zero: JSONValue(0))]),
            hasEventLog: true)
    }

    func register(in requests: inout RequestTable) {
        requests.onRoom("polls.vote") { try await vote($0) }
        requests.onRoom("polls.count") { request in
            let count = try await votes(in: request.room.roomID, byOthersThan: "")
            return Reply(.ok, JSONWriter.object { $0.member("votes", count) })
        }
        requests.on("polls.contribute") { try await contribute($0) }
    }

    private func vote(_ request: RoomRequest) async throws -> Reply {
        let (room, person) = (request.room, request.caller.userID)
        let choice = try request.fields.text("choice", length: 1...20, trimmed: true)
        let at = context.clock.now()
        let seq = try await context.database.write { connection in
            try connection.execute(
                "INSERT INTO votes (room_id, person_id, choice) VALUES ($1, $2, $3)", room.roomID, person, choice)
            let voted = JSONWriter.object {
                $0.member("roomId", room.roomID)
                $0.member("choice", choice)
            }
            return try EventLog.append(
                at: at, roomID: room.roomID, participants: room.userIDs,
                emissions: [Emission(to: .room, "poll:voted", voted)], on: connection)
        }
        return Reply(.created, position: StreamPosition(stream: Self.name, seq: seq))
    }

    private func contribute(_ request: Request) async throws -> Reply {
        let person = try request.fields.string("userId")
        var counts: [Int] = []
        for room in try request.fields.strings("roomIds", count: 0...10_000) {
            counts.append(try await votes(in: room, byOthersThan: person))
        }
        let data = JSONWriter.object {
            $0.member("rooms", array: { json in for count in counts { json.array { $0.number(count) } } })
        }
        return Reply(.ok, data)
    }

    private func votes(in roomID: String, byOthersThan person: String) async throws -> Int {
        try await context.database.read { connection in
            try connection.first(
                "SELECT count(*) FROM votes WHERE room_id = $1 AND person_id <> $2", roomID, person
            ) { $0.int(0) } ?? 0
        }
    }
}
