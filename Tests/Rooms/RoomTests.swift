import Contracts
import JSON
import MessageBus
import Testing

@testable import Rooms

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

    @Test("is shown by its name, or by its people's first names, or by their usernames where there is none to see")
    func displayName() {
        let people: [(String, String?)] = [("alice", "Alice"), ("bob", nil), ("carol", " \n"), ("dave", "")]
        #expect(room(people).displayName == "Alice & bob & carol & dave")
        #expect(room(name: "Team", people).displayName == "Team")
    }

    @Test("of a thousand fits one answer; what does not fit is on the next page")
    func ordinaryPage() {
        let rooms = (0..<RoomPage.maxCount).map { room(id: $0, [("alice", "Alice"), ("bob", nil)]) }
        #expect(RoomPage(of: Array(rooms.prefix(1000))).cursor == nil)
        #expect(RoomPage(of: []).json == .emptyArray)
    }

    @Test("with the longest names of all leaves room on the bus' line for the people beside it")
    func longestPage() throws {
        let long = String(repeating: "🎉", count: 100)
        let username = String(repeating: "u", count: 32)
        let rooms = (0..<RoomPage.maxCount).map { room(id: $0, name: long, [(username, long), (username, long)]) }
        let page = RoomPage(of: rooms)
        #expect(page.json.bytes.count < BusLimits.maxPassedOnLine / 2)
        #expect(page.cursor?.string == page.rooms.last?.id)
        #expect(page.json.array?.count == page.rooms.count)
        let rest = RoomPage(of: Array(rooms.dropFirst(page.rooms.count)))
        #expect(rest.rooms.first?.id == rooms[page.rooms.count].id)
    }
}
