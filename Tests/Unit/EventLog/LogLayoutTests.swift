import ParlorContracts
import ParlorEventLog
import Testing

@Suite("The logs of rooms")
struct LogLayoutTests {
    @Test("a room has the same log everywhere")
    func logsOfRooms() {
        let rooms = ["", "room", "0192d3c4-5a6b-7c8d-9e0f-1a2b3c4d5e6f", "é"]
        #expect(rooms.map(LogLayout.single.number) == [0, 0, 0, 0])
        #expect(rooms.map(LogLayout(generation: 1, count: 1).number) == [100, 100, 100, 100])
        #expect(rooms.map(LogLayout(generation: 1, count: 4).number) == [101, 101, 101, 102])
        #expect(LogLayout(generation: 2, count: 3).number(ofRoom: "é") == 202)
        #expect(rooms.map(LogLayout(generation: 3, count: 16).number) == [301, 305, 313, 306])
    }
}
