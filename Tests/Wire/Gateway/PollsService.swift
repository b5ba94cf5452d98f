import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorServiceKit
import ParlorStorage

/// A small plugin: people vote in rooms, and see the number of others' votes. The gateway has no
/// code for it.
struct PollsService: Service {
    static let name = "polls"
    static let peer = BusPeer.service(name, requests: [Subject.membership])
    static let migrations = [
        Migration(
            version: 1, name: "votes",
            sql: "CREATE TABLE votes (room_id TEXT NOT NULL, person_id TEXT NOT NULL, choice TEXT NOT NULL)")
    ]

    private let context: ServiceContext

    init(_ context: ServiceContext) { self.context = context }

    static let log: LogContents = [.clientEvents, .roomChanges]

    private static let contribution = FieldContribution<Int>(
        "polls.contribute", [.init(.badge("polls")) { $0.number($1) }])

    private static let ofPeople = FieldContribution<Int>(
        "polls.people", [.init(Contribution.Field("votes", zero: JSONValue(0))) { $0.number($1) }])

    func register(in requests: inout RequestTable) {
        let count = Endpoint("polls.count").route("GET", "/api/rooms/:roomId/votes")
        let vote = Endpoint("polls.vote").socketEvent("poll:vote")
        let screen = Endpoint("polls.screen").check(before: "chat.send", whenAway: .deny)
        requests.onRoom(vote) { try await self.vote($0) }
        requests.on(screen) { request in
            guard try request.fields.optionalString("text") != "spoiler" else { throw Self.spoiler }
            return Reply()
        }
        requests.onRoom(count) { request in
            let room = request.room.roomID
            let count = try await request.read { try Self.votes(in: room, byOthersThan: "", on: $0) }
            return Reply(.ok, JSONWriter.object { $0.member("votes", count) })
        }
        requests.onContribution(to: .people, Self.ofPeople) { people, _, connection in
            try people.reduce(into: [:]) { $0[$1] = try Self.votes(of: $1, on: connection) }
        }
        requests.onContribution(Self.contribution) { rooms, person, connection in
            try rooms.reduce(into: [:]) { $0[$1] = try Self.votes(in: $1, byOthersThan: person, on: connection) }
        }
    }

    private static let spoiler = ServiceError(.forbidden, "Vote before you say who wins.")

    private func vote(_ request: RoomRequest) async throws -> Reply {
        let (room, person) = (request.room, request.caller.userID)
        let choice = try request.fields.text("choice", length: 1...20, trimmed: true)
        let at = context.clock.now()
        let entry = try await request.write { connection in
            try connection.execute(
                "INSERT INTO votes (room_id, person_id, choice) VALUES ($1, $2, $3)", room.roomID, person, choice)
            let voted = JSONWriter.object {
                $0.member("roomId", room.roomID)
                $0.member("choice", choice)
            }
            return try request.emit(
                [Emission(to: .room, "poll:voted", voted)], fact: .fieldsChanged(personIDs: [person]), at: at,
                on: connection)
        }
        return Reply(.created, position: entry)
    }

    private static func votes(of person: String, on connection: any Connection) throws -> Int {
        try connection.first("SELECT count(*) FROM votes WHERE person_id = $1", person) { $0.int(0) } ?? 0
    }

    private static func votes(
        in roomID: String, byOthersThan person: String, on connection: any Connection
    ) throws -> Int {
        try connection.first(
            "SELECT count(*) FROM votes WHERE room_id = $1 AND person_id <> $2", roomID, person
        ) { $0.int(0) } ?? 0
    }
}
