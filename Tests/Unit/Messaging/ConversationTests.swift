import ParlorContracts
import ParlorJSON
import ParlorSecurity
import ParlorServiceKit
import ParlorServiceKitTesting
import Testing

@testable import ParlorMessaging

@Suite("The conversation with a person")
struct ConversationTests {
    @Test("following `page.next` gives all shared rooms' messages once, by time", arguments: [1, 2, 5, 19, 20, 50])
    func walk(limit: Int) async throws {
        try await MessagingHarness.serving { harness in
            let rooms = ["a", "b", "c"].map { harness.rooms.make($0, "alice", "bob") }
            _ = harness.rooms.make("silent", "bob", "alice")
            let elsewhere = harness.rooms.make("elsewhere", "alice", "carol")
            var ids: [String] = []
            for number in 0..<20 {
                ids.append(
                    try await harness.sent(by: ["alice", "bob"][number % 2], in: rooms[number * number % 5 % 3]))
                _ = try await harness.send("not for Bob", by: "alice", in: elsewhere)
                if number % 4 == 0 { harness.clock.advance(by: .milliseconds(1)) }
            }
            var all: [JSONValue] = []
            var next: String?
            repeat {
                let query: KeyValuePairs = next.map { ["limit": "\(limit)", "before": $0] } ?? ["limit": "\(limit)"]
                let page = try await harness.conversation(of: "bob", with: "alice", query)
                #expect(page.messages.count <= limit)
                all = page.messages + all
                next = page.next
            } while next != nil
            let order = all.map { "\($0["createdAt"]?.string ?? "") \(100 + ($0["seq"]?.int ?? 0))" }
            #expect(order == order.sorted())
            #expect(all.strings("id").compactMap(\.self).sorted() == ids)
            #expect(try await harness.conversation(of: "alice", with: "bob").messages == all)
        }
    }

    @Test("it is empty without a shared room, and refused for an unknown person or an invalid cursor")
    func none() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            _ = harness.rooms.make("other", "carol", "dave")
            _ = try await harness.send(by: "alice", in: room)
            let empty = try await harness.conversation(of: "carol", with: "alice")
            #expect(empty.messages.isEmpty && empty.next == nil)
            func refusal(_ other: String, _ before: String?) async -> ErrorCode? {
                await failure {
                    try await harness.ask("messaging.conversation", by: "bob") {
                        $0.member("userId", other)
                        if let before { $0.member("before", before) }
                    }
                }?.code
            }
            #expect(await refusal("nobody", nil) == .userNotFound)
            for text in ["1", "1.2", "x.1.id", "1.x.id", "1.2.", String(repeating: "9", count: 30) + ".1.id"] {
                #expect(await refusal("alice", Base64URL.encode(Array(text.utf8))) == .malformedRequest)
            }
            for cursor in ["", "!!not-a-cursor!!", "\0", Base64URL.encode(Array("1.1.nul\0".utf8))] {
                #expect(await refusal("alice", cursor) == .malformedRequest)
            }
        }
    }

    @Test("a room is read only for its own newest message, short or long", arguments: [false, true])
    func manyRooms(isOld: Bool) async throws {
        try await MessagingHarness.serving { harness in
            harness.rooms.isOld.withLock { $0 = isOld }
            var ids: [String] = []
            // More than one read looks into, each with messages before, at and after the place.
            let rooms = (0..<300).map { harness.rooms.make("room \($0)", "alice", "bob") }
            let long = harness.rooms.make("long", "bob", "alice")
            for _ in 0..<70 { ids.append(try await harness.sent(by: "bob", in: long)) }
            harness.clock.advance(by: .milliseconds(1))
            for room in rooms { ids.append(try await harness.sent(by: "alice", in: room)) }
            harness.clock.advance(by: .milliseconds(1))
            ids.append(try await harness.sent(by: "bob", in: long))
            var found: [String] = []
            var next: String?
            repeat {
                let query: KeyValuePairs = next.map { ["limit": "200", "before": $0] } ?? ["limit": "200"]
                let page = try await harness.conversation(of: "bob", with: "alice", query)
                found = page.messages.strings("id").compactMap(\.self) + found
                next = page.next
            } while next != nil
            #expect(found.sorted() == ids.sorted() && Set(found).count == ids.count)
        }
    }

    @Test("rooms with only newer messages are read no deeper than the page goes")
    func interleavedRooms() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = (0..<100).map { harness.rooms.make("room \($0)", "alice", "bob") }
            let long = harness.rooms.make("long", "alice", "bob")
            var ids: [String] = []
            // The second-newest of each room are older than every newest.
            for room in rooms { for _ in 0..<4 { ids.append(try await harness.sent(by: "alice", in: room)) } }
            for _ in 0..<60 { ids.append(try await harness.sent(by: "bob", in: long)) }
            harness.clock.advance(by: .milliseconds(1))
            for room in rooms { ids.append(try await harness.sent(by: "bob", in: room)) }
            // A room's last change may also be later than its last message.
            harness.clock.advance(by: .milliseconds(1))
            for room in rooms.prefix(50) {
                let gone = try await harness.sent(by: "alice", in: room)
                _ = try await harness.delete(gone, by: "alice", in: room)
            }
            var found: [JSONValue] = []
            var next: String?
            repeat {
                _ = harness.database.takeRows()
                let query: KeyValuePairs = next.map { ["limit": "100", "before": $0] } ?? ["limit": "100"]
                let page = try await harness.conversation(of: "bob", with: "alice", query)
                // A row for each room's place, one message of each, and the page twice.
                #expect(harness.database.takeRows() <= 101 + 101 + 2 * 101 + 64)
                found = page.messages + found
                next = page.next
            } while next != nil
            #expect(Set(found.strings("id")) == Set(ids.map(Optional.some)) && found.count == ids.count)
            let order = found.map {
                "\($0["createdAt"]?.string ?? "") \(100 + ($0["seq"]?.int ?? 0)) \($0["id"]?.string ?? "")"
            }
            #expect(order == order.sorted())
        }
    }

    @Test("reading stops once the request's deadline is over", arguments: [false, true])
    func deadline(isLaterPage: Bool) async throws {
        try await MessagingHarness.serving { harness in
            let rooms = (0..<3).map { harness.rooms.make("room \($0)", "alice", "bob") }
            for room in rooms { _ = try await harness.sent(by: "alice", in: room) }
            // Apart from the service's own reads, which may come at any time.
            let database = CountedReads(harness.database)
            let messaging = Messaging(
                database: database, bus: harness.bus, memberships: Memberships(harness.bus),
                clock: harness.clock,
                ids: UUIDv7Generator(randomness: SystemRandomness()))
            let end = ConversationCursor(createdAt: harness.clock.now().adding(.seconds(1)), seq: .max, messageID: "m")
            let cursor = isLaterPage ? end : nil
            #expect(try await messaging.newest(3, in: rooms, before: cursor, until: .now + .seconds(3600)).count == 3)
            _ = database.takeRows()
            await #expect(throws: ServiceError.unavailable("This part of the service")) {
                _ = try await messaging.newest(3, in: rooms, before: cursor, until: .now)
            }
            #expect(database.takeRows() == (isLaterPage ? 0 : rooms.count), "the rooms' last changes at most")
        }
    }

    @Test("the service knows whether somebody has ever answered, also after the answer is deleted")
    func answered() async throws {
        try await MessagingHarness.serving { harness in
            let rooms = ["a", "b"].map { harness.rooms.make($0, "alice", "bob") }
            func isAnswered() async throws -> Bool? {
                try await harness.ask("messaging.answered", by: nil) { json in
                    json.member("by", "bob")
                    json.member("roomIds", array: { for id in rooms { $0.string(id) } })
                }.data["isAnswered"]?.bool
            }
            _ = try await harness.sent(by: "alice", in: rooms[0])
            #expect(try await isAnswered() == false)
            let id = try await harness.sent(by: "bob", in: rooms[1])
            #expect(try await isAnswered() == true)
            _ = try await harness.delete(id, by: "bob", in: rooms[1])
            #expect(try await isAnswered() == true)
        }
    }

    @Test("a cursor of arbitrary numbers gives a page or none", arguments: [Int.min, 0, .max])
    func foreignCursor(number: Int) async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let id = try await harness.sent(by: "alice", in: room)
            let cursor = Base64URL.encode(Array("\(number).\(number).id".utf8))
            let page = try await harness.conversation(of: "bob", with: "alice", ["before": cursor])
            #expect(page.messages.strings("id") == (number == .max ? [id] : []))
        }
    }
}
