import ParlorContracts
import ParlorJSON
import ParlorMessageBus
import Testing

@testable import ParlorRooms

@Suite("A room")
struct RoomTests {
    private func room(
        id: Int = 0, name: String? = nil, _ people: [(username: String, firstName: String?)]
    ) -> Room {
        Room(
            id: "00000000-0000-7000-8000-0000000\(10_000 + id)", name: name.flatMap(RoomName.init(stored:)),
            createdBy: "0",
            createdAt: Timestamp(milliseconds: 1_700_000_000_000),
            updatedAt: Timestamp(milliseconds: 1_700_000_000_000),
            participants: people.enumerated().map { at, person in
                Participant(
                    userID: "00000000-0000-7000-8000-00000000000\(at)", username: person.username,
                    firstName: person.firstName,
                    joinedAt: Timestamp(milliseconds: 1_700_000_000_000))
            })
    }

    @Test("is shown by its name, or by the first names of the first three, or by usernames where there is none to show")
    func displayName() {
        let people: [(String, String?)] = [("alice", "Alice"), ("bob", nil), ("carol", " \n"), ("dave", "")]
        #expect(room(Array(people.prefix(3))).displayName == "Alice & bob & carol")
        #expect(room(people).displayName == "Alice & bob & carol +1")
        #expect(room(name: "Team", people).displayName == "Team")
    }

    private func page(of rooms: [Room]) -> Page<Room> {
        Page(of: rooms, lookedFor: PageLimits.maxRooms, id: \.id) { $0.write(to: &$1) }
    }

    @Test("with a thousand people fits one answer; other rooms are on the next page")
    func ordinaryPage() {
        let rooms = (0..<PageLimits.maxRooms).map { room(id: $0, [("alice", "Alice"), ("bob", nil)]) }
        #expect(page(of: Array(rooms.prefix(1000))).cursor == nil)
        #expect(page(of: []).json == .emptyArray)
    }

    @Test("with the longest names of all leaves room on the bus' line for the people beside it")
    func longestPage() throws {
        let long = String(repeating: "🎉", count: 100)
        let username = String(repeating: "u", count: 32)
        let rooms = (0..<PageLimits.maxRooms).map { room(id: $0, name: long, [(username, long), (username, long)]) }
        let page = self.page(of: rooms)
        #expect(page.json.bytes.count < BusLimits.maxPassedOnLine / 2)
        #expect(page.cursor?.string == page.items.last?.id)
        #expect(page.json.array?.count == page.items.count)
        let rest = self.page(of: Array(rooms.dropFirst(page.items.count)))
        #expect(rest.items.first?.id == rooms[page.items.count].id)
    }
}
