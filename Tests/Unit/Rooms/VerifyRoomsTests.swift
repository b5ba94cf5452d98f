import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import Testing

@testable import ParlorRooms

@Suite("Recounting rooms")
struct VerifyRoomsTests {
    @Test("rooms that an earlier version's instance made meanwhile are missing from the counts, and repaired")
    func earlierVersion() async throws {
        try await RoomsHarness.serving { harness in
            for _ in 1...2 { _ = try await harness.room(harness.alice, with: harness.bob) }
            _ = try await harness.room(harness.alice, with: harness.carol)
            _ = try await harness.room(harness.bob, with: harness.alice)
            let database = harness.context.database
            func found() async throws -> [String] {
                try await database.read { try RoomsService.differencesOfPeople(on: $0).map(\.text) }
            }
            #expect(try await found() == [])
            let (alice, bob, carol) = (harness.alice.id, harness.bob.id, harness.carol.id)
            try await database.write { connection in
                for sql in [
                    "DELETE FROM rooms_made WHERE creator_id = '\(bob)'",
                    "UPDATE rooms_made SET count = 1 WHERE creator_id = '\(alice)' AND other_id <> '\(carol)'",
                ] { try connection.execute(sql) }
            }
            #expect(
                try await found() == [
                    "rooms that \(alice) made: 1 kept, 3 counted",
                    "rooms that \(alice) made with \(bob): 1 kept, 2 counted",
                    "rooms that \(bob) made: 0 kept, 1 counted",
                    "rooms that \(bob) made with \(alice): 0 kept, 1 counted",
                ])
            try await database.write { connection in
                for difference in try RoomsService.differencesOfPeople(on: connection) {
                    try difference.repair?(connection)
                }
            }
            #expect(try await found() == [])
            try await database.write { try $0.execute("UPDATE rooms SET participant_count = 7") }
            let room = try await harness.list(of: harness.alice).roomIDs[0]
            func counts() async throws -> [String] {
                try await database.read { try RoomsService.differences(in: room, members: [], on: $0).map(\.text) }
            }
            #expect(try await counts() == ["participants: 7 kept, 2 counted"])
            try await database.write {
                try RoomsService.differences(in: room, members: [], on: $0).first?.repair?($0)
            }
            #expect(try await counts().isEmpty)
            let rooms = try await database.read { try RoomsService.rooms(after: "", limit: 9, on: $0) }
            #expect(rooms.count == 4 && rooms == rooms.sorted())
        }
    }
}
