import ParlorContracts
import ParlorEventLog
import Testing

@testable import ParlorDelivery

@Suite("People who may get no event of a room")
struct AbsencesTests {
    private static let leaver = PeopleChange.Leaver(userID: "carol", username: "carol", firstName: nil)

    private static func cursor(at seq: Int) -> SyncCursor {
        SyncCursor([LogID("rooms"): LogPosition(databaseID: "db", seq: seq, digest: 0)])
    }

    @Test("who leaves is absent from the fence on, and admitted only with a newer record")
    func leaving() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 2, left: [Self.leaver]))
        #expect(absences.has("carol", in: "room") && !absences.has("carol", in: "other"))
        #expect(!absences.admit("carol", to: "room", recordVersion: 1))
        #expect(absences.admit("carol", to: "room", recordVersion: 3))
        #expect(absences.admit("bob", to: "room", recordVersion: 1))
    }

    @Test("who comes is absent until the entry of the addition")
    func joining() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["dave"]))
        #expect(absences.has("dave", in: "room"))
        absences.note((version: 2, joined: ["dave"], left: []), in: "room", at: 7)
        #expect(!absences.has("dave", in: "room"))
    }

    @Test("an earlier entry that arrives late brings nobody back")
    func late() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 3, left: [Self.leaver]))
        absences.note((version: 2, joined: ["carol"], left: []), in: "room", at: 5)
        #expect(absences.has("carol", in: "room"))
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["carol"]))
        #expect(!absences.admit("carol", to: "room", recordVersion: 2))
    }

    @Test("a cursor from before a change of the person's rooms is not served from memory")
    func cursors() {
        var absences = Absences()
        #expect(!absences.haveRoomsChanged(of: "carol", since: Self.cursor(at: 0)))
        absences.note(PeopleChange(roomID: "room", version: 2, left: [Self.leaver]))
        #expect(absences.haveRoomsChanged(of: "carol", since: Self.cursor(at: 100)), "the entry is still to come")
        absences.note((version: 2, joined: [], left: ["carol"]), in: "room", at: 101)
        #expect(absences.haveRoomsChanged(of: "carol", since: Self.cursor(at: 100)))
        #expect(!absences.haveRoomsChanged(of: "carol", since: Self.cursor(at: 101)))
        #expect(!absences.haveRoomsChanged(of: "bob", since: Self.cursor(at: 0)))
        absences.isUncertain = true
        #expect(absences.haveRoomsChanged(of: "bob", since: Self.cursor(at: 200)))
    }

    @Test("the number of people that are remembered is bounded")
    func bounds() {
        var absences = Absences()
        for number in 0...Absences.maxCount {
            let leaver = PeopleChange.Leaver(userID: "\(number)", username: "", firstName: nil)
            absences.note(PeopleChange(roomID: "room", version: 2, left: [leaver]))
            absences.note((version: 2, joined: [], left: ["\(number)"]), in: "room", at: number)
        }
        #expect(!absences.has("0", in: "room") && absences.has("\(Absences.maxCount)", in: "room"))
        #expect(absences.haveRoomsChanged(of: "0", since: Self.cursor(at: 5)), "what was forgotten counts as changed")
    }
}
