import ParlorServiceKit
import ParlorStorage
import Testing

@testable import ParlorMessaging

/// Rows are damaged by hand; the findings and repairs are compared with the service's earlier
/// state.
@Suite("Recounting messages")
struct VerifyMessagingTests {
    /// A room of Ada and Ben with a bit of everything in it.
    private func converse(
        _ harness: MessagingHarness, in id: String = "room", deleting: Bool = true
    ) async throws -> String {
        let room = harness.rooms.make(id, "ada", "ben")
        var ids: [String] = []
        for n in 0..<5 {
            harness.clock.advance(by: .seconds(1))
            ids.append(try await harness.sent("\(n)", by: n.isMultiple(of: 2) ? "ada" : "ben", in: room))
        }
        _ = try await harness.read([ids[0]], by: "ben", in: room)
        harness.clock.advance(by: .seconds(1))
        if deleting { _ = try await harness.delete(ids[4], by: "ada", in: room) }
        return room
    }

    private func differences(_ harness: MessagingHarness, _ room: String) async throws -> [String] {
        try await harness.database.read {
            try MessagingService.differences(in: room, members: ["ada", "ben"], on: $0).map(\.text)
        }
    }

    private func repair(_ harness: MessagingHarness, _ room: String) async throws {
        try await harness.database.write { connection in
            for difference in try MessagingService.differences(
                in: room, members: ["ada", "ben"], on: connection)
            {
                try difference.repair?(connection)
            }
        }
    }

    @Test("the service's own data passes", arguments: [false, true])
    func right(deleting: Bool) async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness, deleting: deleting)
            #expect(try await differences(harness, room) == [])
        }
    }

    @Test(
        "a wrong number is reported, and repaired",
        arguments: [
            ("UPDATE chats SET last_seq = 9", "last seq: 9 kept, 5 counted"),
            ("UPDATE chats SET last_seq = 2", "last seq: 2 kept, 5 counted"),
            ("UPDATE chats SET shown = 9", "shown messages: 9 kept, 4 counted"),
            (
                "UPDATE members SET settled = settled - 6 WHERE user_id = $1",
                "unread messages of ben: 7 kept, 1 counted"
            ),
            (
                "UPDATE members SET settled = settled + 2 WHERE user_id = $1",
                "unread messages of ben: -1 kept, 1 counted"
            ),
            ("UPDATE members SET sent = 0 WHERE user_id = $1", "sent messages of ben: 0 kept, 2 counted"),
            (
                "UPDATE members SET frontier = 3 WHERE user_id = $1",
                "messages before the first unread one of ben: 3 kept, 2 counted"
            ),
            ("DELETE FROM members WHERE user_id = $1", "unread messages of ben: nothing kept, 1 counted"),
        ])
    func damage(sql: String, text: String) async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness)
            let before = [try await harness.unread(of: "ada", in: room), try await harness.unread(of: "ben", in: room)]
            try await harness.database.write {
                try $0.execute(sql, binding: sql.contains("$1") ? [.id("ben")] : [])
            }
            #expect(try await differences(harness, room) == [text])
            try await repair(harness, room)
            #expect(try await differences(harness, room) == [])
            let after = [try await harness.unread(of: "ada", in: room), try await harness.unread(of: "ben", in: room)]
            #expect(after == before)
            #expect(try await harness.send(by: "ben", in: room).data["seq"]?.int == 6)
        }
    }

    @Test("counts of who has left are reported, and deleted")
    func left() async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness)
            try await harness.database.write { connection in
                try connection.execute("INSERT INTO members VALUES (1, $1, 0, 0, 0, 0)", SQLValue.id("eve"))
            }
            #expect(try await differences(harness, room) == ["counts of eve, who has left: 1 kept, 0 counted"])
            try await repair(harness, room)
            #expect(try await differences(harness, room) == [])
        }
    }

    @Test("a chat of a room that is gone is reported, unless its messages are being deleted")
    func gone() async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness)
            let find: @Sendable () async throws -> [String] = {
                try await harness.database.read {
                    try MessagingService.differences(in: room, members: [], on: $0).map(\.text)
                }
            }
            #expect(try await find() == ["chats of a room that is gone: 1 kept, 0 counted"])
            try await harness.database.write { try $0.execute("INSERT INTO deleted_rooms VALUES (1)") }
            #expect(try await find() == [])
        }
    }

    @Test("receipts without a message are reported, and deleted")
    func receipts() async throws {
        try await MessagingHarness.serving { harness in
            _ = try await converse(harness)
            let find: @Sendable (any Connection) throws -> [Discrepancy] = {
                try MessagingService.differencesOfPeople(on: $0)
            }
            #expect(try await harness.database.read { try find($0).map(\.text) } == [])
            try await harness.database.write { connection in
                try connection.execute(
                    "INSERT INTO receipts VALUES ($1, $2, 0)", SQLValue.id("gone"), SQLValue.id("ada"))
            }
            try await harness.database.write { connection in
                let found = try find(connection)
                #expect(found.map(\.text) == ["receipts without a message: 1 kept, 0 counted"])
                for difference in found { try difference.repair?(connection) }
                #expect(try find(connection).isEmpty)
            }
        }
    }

    @Test("a time is that of the last message, or later if one was deleted")
    func times() async throws {
        try await MessagingHarness.serving { harness in
            for deleting in [false, true] {
                let room = try await converse(harness, in: "room \(deleting)", deleting: deleting)
                let last = try #require(try await harness.list(by: "ada", in: room).messages.last?["createdAt"]?.string)
                for move in [-60_000, 60_000] {
                    try await harness.database.write {
                        try $0.execute(
                            "UPDATE chats SET updated_at = updated_at + $2 WHERE room_id = $1", room, move)
                    }
                    let found = try await differences(harness, room)
                    if deleting && move > 0 {
                        #expect(found == [], "the time of the deletion is unknown")
                    } else {
                        #expect(found.count == 1 && found[0].hasPrefix("time of the last change: "))
                        #expect(deleting || found[0].contains(last))
                    }
                    try await repair(harness, room)
                    #expect(try await differences(harness, room) == [])
                }
            }
        }
    }

    @Test("a chat without a message is removed with its counts")
    func chats() async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness)
            try await harness.database.write { connection in
                try connection.execute(
                    "INSERT INTO chats (number, room_id, last_seq, updated_at) VALUES (9, 'ghost', 3, 0)")
                try connection.execute(
                    """
                    INSERT INTO members (room, user_id, joined_seq, settled, sent, frontier)
                    VALUES (9, $1, 0, -2, 0, 0)
                    """, SQLValue.id("ben"))
            }
            #expect(
                try await differences(harness, "ghost") == [
                    "last seq: 3 kept, 0 counted", "unread messages of ben: 2 kept, 0 counted",
                ])
            let rooms = try await harness.database.read { try MessagingService.rooms(after: "", limit: 10, on: $0) }
            #expect(rooms == [room, "ghost"].sorted())
            for room in rooms { try await repair(harness, room) }
            for room in rooms { #expect(try await differences(harness, room) == []) }
            #expect(try await harness.unread(of: "ben", in: "ghost") == nil)
            #expect(try await harness.send(by: "ben", in: room).data["seq"]?.int == 6)
        }
    }

    @Test("a missing chat is reported, and its number not used again")
    func missingChat() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = [try await converse(harness), try await converse(harness, in: "other")]
            try await harness.database.write { try $0.execute("DELETE FROM chats WHERE room_id = $1", rooms[1]) }
            let found = try await harness.database.read { connection in
                try MessagingService.differencesOfPeople(on: connection).map(\.text)
            }
            #expect(found == ["chats with the number 2: 0 kept, 1 counted"])
            let fresh = harness.rooms.make("fresh", "ada", "ben")
            #expect(try await harness.send(by: "ada", in: fresh).data["seq"]?.int == 1)
            #expect(try await harness.list(by: "ben", in: fresh).messages.count == 1)
            let snapshot = try await harness.database.read { try Messaging.snapshot(after: "", limit: 20, on: $0) }
            #expect(snapshot.count == 5)
        }
    }

    @Test("a missing message is reported, and cannot be restored")
    func lost() async throws {
        try await MessagingHarness.serving { harness in
            let room = try await converse(harness)
            try await harness.database.write { try $0.execute("DELETE FROM messages WHERE seq = 2") }
            let texts = [
                "messages up to seq 5: 4 kept, 5 counted", "shown messages: 4 kept, 3 counted",
                "unread messages of ben: 0 kept, 1 counted",
            ]
            #expect(try await differences(harness, room) == texts)
            try await repair(harness, room)
            #expect(try await differences(harness, room) == [texts[0]])
        }
    }

    @Test("rooms are listed in pages, in order, each once")
    func pages() async throws {
        try await MessagingHarness.serving { harness in
            var rooms: [String] = []
            for n in 0..<5 { rooms.append(try await converse(harness, in: "room \(n)")) }
            let found = try await harness.database.read { connection in
                var found: [String] = []
                while case let page = try MessagingService.rooms(after: found.last ?? "", limit: 2, on: connection),
                    !page.isEmpty
                {
                    found += page
                }
                return found
            }
            #expect(found == rooms.sorted())
        }
    }
}
