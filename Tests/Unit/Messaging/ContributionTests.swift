import ParlorContracts
import ParlorJSON
import ParlorStorage
import ParlorTestSupport
import Testing

@testable import ParlorMessaging

@Suite("What messaging adds to a room")
struct ContributionTests {
    @Test("it contributes the time of the last change, the last message and the reader's count, in the requested order")
    func fields() async throws {
        try await MessagingHarness.serving { harness in
            let (room, silent) = (
                harness.rooms.make("room", "alice", "bob"), harness.rooms.make("silent", "alice", "bob")
            )
            _ = try await harness.send("first", by: "alice", in: room)
            harness.clock.advance(by: .milliseconds(1))
            let last = try await harness.sent("last", by: "bob", in: room)
            let shown = try await harness.contribution(to: [silent, room, "unknown"], for: "bob")
            #expect(
                shown.map(\.text) == [
                    "null",
                    """
                    [1700000000001,{"id":"\(last)","senderId":"bob","text":"last",\
                    "createdAt":"2023-11-14T22:13:20.001Z"},1,1,null]
                    """,
                    "null",
                ])
            #expect(try await harness.contribution(to: [], for: "bob") == [])
        }
    }

    @Test("deleting the last message shows the one before, deleting all shows none, and each moves the time")
    func deletion() async throws {
        try await MessagingHarness.serving { harness in
            let room = harness.rooms.make("room", "alice", "bob")
            let first = try await harness.sent("first", by: "alice", in: room)
            let second = try await harness.sent("second", by: "alice", in: room)
            func shown() async throws -> (at: Int?, text: String?, unread: Int?) {
                let fields = try await harness.contribution(to: [room], for: "bob").first?.array ?? []
                return (fields[0].int, fields[1]["text"]?.string, fields[2].int)
            }
            #expect(try await shown() == (1_700_000_000_000, "second", 2))
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.delete(second, by: "alice", in: room)
            #expect(try await shown() == (1_700_000_001_000, "first", 1))
            harness.clock.advance(by: .seconds(1))
            _ = try await harness.delete(first, by: "alice", in: room)
            #expect(try await shown() == (1_700_000_002_000, nil, 0))
        }
    }

    @Test(
        "counts, and the first unread message, equal a recount after any mix of sends, reads and deletions",
        arguments: 1...4)
    func recount(seed: UInt64) async throws {
        try await MessagingHarness.serving { harness in
            var random = SeededGenerator(seed: seed)
            let people = ["alice", "bob", "carol"]
            let rooms = [
                harness.rooms.make("two", "alice", "bob"), harness.rooms.make("three", "alice", "bob", "carol"),
            ]
            var sent: [(id: String, sender: String, room: String)] = []
            for _ in 0..<150 {
                let room = rooms[Int.random(in: 0...1, using: &random)]
                let person = people[Int.random(in: 0...(room == "two" ? 1 : 2), using: &random)]
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<5:
                    sent.append((try await harness.sent(by: person, in: room), person, room))
                case 5..<8:
                    let ids = sent.filter { _ in Bool.random(using: &random) }.map(\.id)
                    if !ids.isEmpty { _ = try await harness.read(ids, by: person, in: room) }
                default:
                    guard !sent.isEmpty else { continue }
                    let message = sent.remove(at: Int.random(in: 0..<sent.count, using: &random))
                    _ = try await harness.delete(message.id, by: message.sender, in: message.room)
                }
            }
            for (room, people) in zip(rooms, [people.prefix(2), people.prefix(3)]) {
                let differences = try await harness.database.read {
                    try MessagingService.differences(in: room, members: Array(people), on: $0).map(\.text)
                }
                #expect(differences == [])
                for person in people {
                    let unread = try await harness.list(by: person, in: room, ["limit": "200"]).messages.filter {
                        $0["senderId"]?.string != person
                            && $0["readBy"]?.array?.contains { $0["userId"]?.string == person } == false
                    }
                    let fields = try await harness.contribution(to: [room], for: person).first?.array
                    #expect(fields?[2].int == unread.count && fields?[3].int == unread.first?["seq"]?.int)
                }
            }
        }
    }
}
