import Foundation
import ParlorContracts
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorMessaging

@Suite("Short rows")
struct ShortRowsTests {
    private let folder = TemporaryFolder()
    /// The number of messages; a campaign has a million (docs/operating.md).
    private static let count = ProcessInfo.processInfo.environment["MIGRATED_MESSAGES"].flatMap(Int.init) ?? 2500
    private static let rooms = max(2, count / 30)

    private static func room(_ n: Int) -> String { String(format: "%08d-0000-7000-8000-00000000000%d", n, n % 10) }
    private static func message(_ n: Int) -> String { String(format: "0191f0a2-7c3b-7d4e-8f90-%012d", n) }

    /// The `tempId`s that clients choose: a UUID in either case, and other texts.
    private static func tempID(_ n: Int) -> String? {
        switch n % 4 {
        case 0: String(format: "0191F0A2-7C3B-4D4E-8F90-%012d", n)
        case 1: String(format: "0191f0a2-7c3b-4d4e-8f90-%012d", n)
        case 2: "temp-\(n)"
        default: nil
        }
    }

    /// Writes rows as the version before had them: in each room `alice` and `bob` in turn, every ninth message deleted,
    /// every second of Alice's read by Bob.
    private func fill(_ engine: Engine) async throws {
        let database = try engine.open(Array(MessagingService.migrations.prefix(3)), in: folder)
        let (count, rooms) = (Self.count, Self.rooms)
        for start in stride(from: 0, to: count, by: 10_000) {
            try await database.write { connection in
                for n in start..<min(start + 10_000, count) {
                    let isDeleted = n % 9 == 8
                    try connection.executeLater(
                        """
                        INSERT INTO messages (id, room_id, seq, sender_id, text, created_at, temp_id)
                        VALUES ($1, $2, $3, $4, $5, $6, $7)
                        """, Self.message(n), Self.room(n % rooms), n / rooms + 1, n / rooms % 2 == 0 ? "alice" : "bob",
                        isDeleted ? nil as String? : "text \(n)", n, Self.tempID(n))
                    guard !isDeleted, n / rooms % 4 == 0 else { continue }
                    try connection.executeLater(
                        "INSERT INTO receipts (message_id, user_id, read_at) VALUES ($1, 'bob', $2)", Self.message(n), n
                    )
                }
            }
        }
        try await database.write { connection in
            for room in 0..<rooms {
                let numbers = stride(from: room, to: count, by: rooms)
                let shown = numbers.filter { $0 % 9 != 8 }
                try connection.executeLater(
                    "INSERT INTO chats (room_id, last_seq, updated_at) VALUES ($1, $2, $3)", Self.room(room),
                    Array(numbers).count, numbers.max() ?? 0)
                for (person, unread) in [
                    ("alice", shown.filter { $0 / rooms % 2 == 1 }.count),
                    ("bob", shown.filter { $0 / rooms % 4 == 2 }.count),
                ] {
                    try connection.executeLater(
                        "INSERT INTO unread (room_id, user_id, count) VALUES ($1, $2, $3)", Self.room(room), person,
                        unread)
                }
            }
        }
        await database.close()
    }

    @Test("messages of the version before are all there, and a retry finds its message", arguments: Engine.lasting)
    func migration(engine: Engine) async throws {
        try await fill(engine)
        let start = ContinuousClock.now
        let database = try engine.open(MessagingService.migrations, in: folder)
        print("\(Self.count) messages converted on \(engine) in \(ContinuousClock.now - start)")
        try await MessagingHarness.serving(on: database) { harness in
            let known = (0..<min(Self.rooms, 50)).map(Self.room)
            for room in known { _ = harness.rooms.make(room, "alice", "bob") }
            for room in known {
                let differences = try await database.read {
                    try MessagingService.differences(in: room, members: ["alice", "bob"], on: $0).map(\.text)
                }
                #expect(differences == [])
            }
            #expect(
                try await database.read { try MessagingService.rooms(after: "", limit: 3, on: $0) }
                    == Array(known.prefix(3)))
            let shown = stride(from: 0, to: Self.count, by: Self.rooms).filter { $0 % 9 != 8 }
            let page = try await harness.list(by: "bob", in: known[0], ["limit": "200"]).messages
            #expect(page.strings("id") == shown.suffix(200).map(Self.message))
            #expect(page.strings("tempId") == shown.suffix(200).map(Self.tempID))
            #expect(page.strings("text") == shown.suffix(200).map { "text \($0)" })
            let readBy = page.map { $0["readBy"]?.array?.compactMap { $0["userId"]?.string } }
            #expect(readBy == shown.suffix(200).map { $0 / Self.rooms % 4 == 0 ? ["bob"] : [] })
            for n in 0..<9 {
                guard let tempID = Self.tempID(n), known.indices.contains(n) else { continue }
                if n % 9 == 8 {
                    try await harness.expect(.messageNotFound) {
                        try await harness.send(by: "alice", in: known[n], tempID: tempID)
                    }
                } else {
                    let reply = try await harness.send(by: "alice", in: known[n], tempID: tempID)
                    #expect(reply.data["id"]?.string == Self.message(n) && reply.data["text"]?.string == "text \(n)")
                }
            }
            let last = stride(from: 0, to: Self.count, by: Self.rooms).reversed().first ?? 0
            let sent = try await harness.send(by: "alice", in: known[0], tempID: "new")
            #expect(sent.data["seq"]?.int == last / Self.rooms + 2)
            let fresh = harness.rooms.make("a room without a message", "alice", "bob")
            #expect(try await harness.send(by: "alice", in: fresh).data["seq"]?.int == 1)
            #expect(try await harness.list(by: "bob", in: fresh).messages.count == 1)
        }
        await database.close()
    }

    @Test("two attempts with one hash are two sends", arguments: Engine.allCases)
    func equalHashes(engine: Engine) async throws {
        let database = try engine.open(MessagingService.migrations, in: folder)
        try await MessagingHarness.serving(on: database) { harness in
            let rooms = [harness.rooms.make("room", "alice", "bob"), harness.rooms.make("other", "alice", "bob")]
            let first = try await harness.send("first", by: "alice", in: rooms[0], tempID: "one")
            let attempt = SendBatch.Attempt(roomID: rooms[0], senderID: "alice", tempID: "two")
            try await database.write { try $0.execute("UPDATE messages SET attempt = $1", attempt.hash) }
            let second = try await harness.send("second", by: "alice", in: rooms[0], tempID: "two")
            #expect(second.status == .created && second.data["seq"]?.int == 2)
            let again = try await harness.send("again", by: "alice", in: rooms[0], tempID: "two")
            #expect(again.status == .ok && again.data["id"] == second.data["id"])
            #expect(first.data["id"] != second.data["id"])
            // The same `tempId` under the same hash in another room.
            let other = SendBatch.Attempt(roomID: rooms[1], senderID: "alice", tempID: "two")
            try await database.write { try $0.execute("UPDATE messages SET attempt = $1", other.hash) }
            #expect(try await harness.send("third", by: "alice", in: rooms[1], tempID: "two").status == .created)
        }
        await database.close()
    }

    @Test("in lists and counts, ids of any form are the same as before")
    func idsOfAnyForm() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "0191F0A2-7C3B-4D4E-8F90-000000000001", "fifteen letters")
            let id = try await harness.sent(by: "fifteen letters", in: room)
            _ = try await harness.read([id], by: "0191F0A2-7C3B-4D4E-8F90-000000000001", in: room)
            let message = try await harness.list(by: "fifteen letters", in: room).messages.first
            #expect(message?["senderId"]?.string == "fifteen letters")
            #expect(
                message?["readBy"]?.array?.first?["userId"]?.string == "0191F0A2-7C3B-4D4E-8F90-000000000001")
        }
    }
}
