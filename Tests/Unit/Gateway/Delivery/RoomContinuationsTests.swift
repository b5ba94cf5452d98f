import ParlorEventLog
import Testing

@testable import ParlorDelivery

@Suite("Where a socket continues with rooms")
struct RoomContinuationsTests {
    private static func cursor(_ seq: Int) -> SyncCursor {
        SyncCursor(["chat": LogPosition(databaseID: "db", seq: seq, digest: seq)])
    }

    @Test("a room continues where it was left, any other from the start; a room that is joined is forgotten")
    func leaving() {
        var rooms = RoomContinuations(from: Self.cursor(1))
        #expect(rooms.cursor(of: "r") == Self.cursor(1))
        rooms.leave("r", at: Self.cursor(2))
        rooms.leave("s", at: Self.cursor(3))
        #expect(rooms.cursor(of: "r") == Self.cursor(2) && rooms.cursor(of: "t") == Self.cursor(1))
        for room in ["r", "s"] { rooms.join(room) }
        #expect(rooms.count == 0)
    }

    @Test("beyond the limit all rooms are dropped, also those that follow")
    func limit() {
        var rooms = RoomContinuations(from: Self.cursor(1))
        for number in 1...RoomContinuations.maxRooms { rooms.leave("\(number)", at: Self.cursor(number)) }
        #expect(rooms.count == RoomContinuations.maxRooms)
        #expect(rooms.cursor(of: "7") == Self.cursor(7) && rooms.cursor(of: "r") == Self.cursor(1))
        for room in ["r", "s"] { rooms.leave(room, at: Self.cursor(9)) }
        #expect(rooms.count == 0)
        for room in ["7", "r", "t"] { #expect(rooms.cursor(of: room) == nil) }
    }
}
