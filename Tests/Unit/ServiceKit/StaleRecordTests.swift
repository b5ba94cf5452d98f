import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorServiceKit

@Suite("Requests in a room whose record has changed", .timeLimit(.minutes(1)))
struct StaleRecordTests {
    private static func record(_ version: Int, _ people: String...) -> Membership {
        let participants = people.map {
            Participant(userID: $0, username: $0, firstName: nil, joinedAt: Timestamp(milliseconds: 0))
        }
        return Membership(roomID: "room", version: version, participants: participants)
    }

    /// A service that notes in its database who has written, and who was in the room then.
    private static func started() async throws -> HostHarness {
        let emission = Emission(to: .room, "written", JSONValue("x"))
        let harness = try await HostHarness.started { table in
            table.onRoom("test.write") { request in
                let position = try await request.write { connection in
                    try request.emit([emission], at: HostHarness.now, on: connection)
                }
                return Reply(.ok, JSONValue(request.room.userIDs.joined(separator: " ")), position: position)
            }
            table.onRoom("test.read") { request in
                try await request.read { _ in Reply(.ok, JSONValue(request.room.userIDs.joined(separator: " "))) }
            }
        }
        try await harness.change(record(1, "ada", "ben"))
        return harness
    }

    private static let ben = Caller(id: "ben", username: "ben", firstName: nil)

    private func entries(_ harness: HostHarness) async throws -> [String] {
        try await harness.database.read {
            try $0.all("SELECT participants FROM events ORDER BY seq") { $0.text(0) }
        }
    }

    @Test("it is repeated with the new record, which its entry names", arguments: ["test.write", "test.read"])
    func repeated(subject: String) async throws {
        let harness = try await Self.started()
        #expect(try await harness.ask(subject).data.string == "ada ben")
        try await harness.change(Self.record(2, "ada", "carol"))
        #expect(try await harness.ask(subject).data.string == "ada carol")
        let expected = subject == "test.write" ? [#"["ada","ben"]"#, #"["ada","carol"]"#] : []
        #expect(try await entries(harness) == expected)
        await harness.stop()
    }

    @Test("who was removed finds no room, and has written nothing", arguments: ["test.write", "test.read"])
    func removed(subject: String) async throws {
        let harness = try await Self.started()
        try await harness.ask(subject, as: Self.ben)
        let before = try await entries(harness)
        try await harness.change(Self.record(2, "ada"))
        #expect(await harness.error(subject, as: Self.ben) == .roomNotFound)
        #expect(try await entries(harness) == before)
        await harness.stop()
    }

    @Test("who was added is found, though the cached record is older")
    func added() async throws {
        let harness = try await Self.started()
        try await harness.ask("test.write")
        #expect(await harness.error("test.write", as: HostHarness.stranger) == .roomNotFound)
        try await harness.change(Self.record(2, "ada", "ben", "eve"))
        #expect(try await harness.ask("test.write", as: HostHarness.stranger).data.string == "ada ben eve")
        await harness.stop()
    }

    @Test("while the owner has only an older record, the caller is asked to try again")
    func olderThanFence() async throws {
        let harness = try await Self.started()
        try await harness.ask("test.write")
        try await harness.database.write { try RoomFences($0).raise("room", to: 3) }
        #expect(await harness.error("test.write")?.code == .serviceUnavailable)
        try await harness.change(Self.record(3, "ada"))
        #expect(try await harness.ask("test.write").data.string == "ada")
        await harness.stop()
    }

    @Test("a fence never falls")
    func fence() async throws {
        let harness = try await Self.started()
        let fences = try await harness.database.write { connection in
            let fences = RoomFences(connection)
            return try [3, 2, 4].map { version in
                try fences.raise("other", to: version)
                return try fences.fence(of: "other")
            }
        }
        #expect(fences == [3, 3, 4])
        await harness.stop()
    }

    @Test("requests of one sender commit in order through changes of the record")
    func order() async throws {
        let harness = try await HostHarness.started { table in
            table.onRoom("test.write") { request in
                let number = try request.fields.optionalInt("number") ?? -1
                try await request.write { connection in
                    _ = try request.emit(
                        [Emission(to: .room, "written", JSONValue(number))], at: HostHarness.now, on: connection)
                }
                return Reply()
            }
        }
        let answers = Collector<Int>()
        let context = BusContext(requestID: "order", caller: HostHarness.ada.json)
        for number in 0..<1000 {
            let data = JSONWriter.object {
                $0.member("roomId", "room")
                $0.member("number", number)
            }
            harness.bus.request("test.write", data, context) { _ in answers.add(number) }
            if number % 250 == 0 { try await harness.change(Self.record(number + 2, "ada")) }
        }
        await answers.first(1000)
        let written = try await harness.database.read {
            try $0.all("SELECT emissions FROM events ORDER BY seq") { row in
                try JSONValue(parsing: row.text(0)).array?.first?["data"]?.int ?? -1
            }
        }
        #expect(written == Array(0..<1000))
        await harness.stop()
    }
}
