import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import Testing

@testable import ParlorRooms

@Suite("Pages of lists that are too long for the bus")
struct PageTests {
    private func page(of items: [String], lookedFor limit: Int) -> Page<String> {
        Page(of: items, lookedFor: limit, id: \.self) { $1.string($0) }
    }

    @Test("a page that has everything found is the last, and none follows an empty one")
    func last() {
        let page = page(of: ["a", "b"], lookedFor: 3)
        #expect(page.json.text == #"["a","b"]"# && page.items == ["a", "b"] && page.cursor == nil)
        #expect(self.page(of: [], lookedFor: 3).cursor == nil)
    }

    @Test("a page with as many rows as requested may be followed by another, even if all of them fit")
    func fullByNumber() {
        #expect(page(of: ["a", "b", "c"], lookedFor: 3).cursor?.string == "c")
    }

    @Test("rows that do not fit are left for the next page, which continues after the last that fits")
    func fullByLength() {
        let items = (0..<20).map { "\($0)" + String(repeating: "x", count: 60_000) }
        let page = page(of: items, lookedFor: 100)
        #expect(page.items == Array(items[..<9]))
        #expect(page.json.bytes.count < PageLimits.maxBytes + 60_010)
        #expect(page.cursor?.string == items[8])
    }

    @Test("many shared rooms are returned whole, though no line of the bus would hold them")
    func whole() async throws {
        try await RoomsHarness.serving { harness in
            let now = harness.clock.now()
            func participant(_ id: String) -> Participant {
                Participant(userID: id, username: "somebody", firstName: nil, joinedAt: now)
            }
            let (alice, bob) = (harness.alice, harness.bob)
            let others = (10_000..<16_000).map { String(repeating: "i", count: 200) + "\($0)" }
            let rooms = others.enumerated().map { number, other in
                Room(
                    id: "room-\(10_000 + number)", name: nil, createdBy: alice.id, createdAt: now, updatedAt: now,
                    participants: [alice.id, bob.id, other].map(participant))
            }
            try await harness.context.database.write { connection in
                let store = RoomsStore(connection)
                for room in rooms {
                    let people = room.participants.map {
                        Person(id: $0.userID, username: $0.username, firstName: $0.firstName, email: nil)
                    }
                    _ = try store.updateNames(of: people)
                    try store.insert(room, key: nil)
                }
            }
            func all(_ subject: String, _ write: (inout JSONWriter) -> Void) async throws -> [JSONValue] {
                try await harness.bus.askForAll(
                    subject, BusContext(requestID: "test", timeout: .seconds(60)), of: "Rooms", write)
            }
            let shared = try await all("rooms.shared") {
                $0.member("userId", alice.id)
                $0.member("otherUserId", bob.id)
            }
            #expect(shared.compactMap(Membership.init) == rooms.reversed().map(\.membership))
        }
    }
}
