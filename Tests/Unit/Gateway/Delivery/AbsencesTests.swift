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
        _ = absences.note((version: 2, joined: ["dave"], left: []), in: "room", at: 7)
        #expect(!absences.has("dave", in: "room"))
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["dave"]))
        #expect(!absences.has("dave", in: "room"), "the fence comes once more, from another instance of Rooms")
    }

    @Test("an earlier entry that arrives late brings nobody back, and removes nobody who has come again")
    func late() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 3, left: [Self.leaver]))
        #expect(absences.note((version: 2, joined: ["carol"], left: []), in: "room", at: 5) == [])
        #expect(absences.has("carol", in: "room"))
        absences.note(PeopleChange(roomID: "room", version: 4, joined: ["carol"]))
        #expect(absences.note((version: 3, joined: [], left: ["carol"]), in: "room", at: 6) == [])
        #expect(!absences.admit("carol", to: "room", recordVersion: 3))
        #expect(absences.admit("carol", to: "room", recordVersion: 4))
    }

    @Test("who left by a change whose fence did not come is absent from its entry on")
    func missedFence() {
        var absences = Absences()
        #expect(absences.note((version: 2, joined: [], left: ["carol"]), in: "room", at: 5) == ["carol"])
        #expect(absences.has("carol", in: "room"))
    }

    @Test("who was still coming when the log starts is not absent: the entry of the addition may be before the start")
    func restart() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["dave"]))
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        #expect(!absences.has("dave", in: "room"))
    }

    @Test("changes from before the start of the log count once its earlier entries are known")
    func start() {
        var absences = Absences()
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        #expect(absences.mayHaveCome("bob", since: Self.cursor(at: 49)))
        #expect(!absences.mayHaveCome("bob", since: Self.cursor(at: 50)))
        let change = PeopleChange(roomID: "room", version: 2, left: [Self.leaver])
        let entry = LogEntry(
            log: 0, seq: 45, at: Timestamp(milliseconds: 0), roomID: "room", participants: [], emissions: [],
            fact: .peopleChanged(change), requestID: nil)
        absences.backfill(
            LogID("rooms"), [Broadcast(entry, of: LogID("rooms"))],
            from: LogPosition(databaseID: "db", seq: 40, digest: 0))
        #expect(!absences.mayHaveCome("bob", since: Self.cursor(at: 40)))
        #expect(absences.mayHaveCome("carol", since: Self.cursor(at: 44)))
        #expect(!absences.mayHaveCome("carol", since: Self.cursor(at: 45)))
    }

    @Test("a cursor from before the person came to a room is not served from memory")
    func cursors() {
        var absences = Absences()
        #expect(!absences.mayHaveCome("carol", since: Self.cursor(at: 0)))
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["carol"]))
        #expect(!absences.mayHaveCome("carol", since: Self.cursor(at: 100)), "she is absent until the entry")
        _ = absences.note((version: 2, joined: ["carol"], left: []), in: "room", at: 101)
        #expect(absences.mayHaveCome("carol", since: Self.cursor(at: 100)))
        #expect(!absences.mayHaveCome("carol", since: Self.cursor(at: 101)))
        _ = absences.note((version: 3, joined: [], left: ["carol"]), in: "room", at: 102)
        #expect(!absences.mayHaveCome("carol", since: Self.cursor(at: 101)))
        #expect(absences.has("carol", in: "room"))
        #expect(!absences.mayHaveCome("bob", since: Self.cursor(at: 0)))
        absences.isUncertain = true
        #expect(absences.mayHaveCome("bob", since: Self.cursor(at: 200)))
    }

    @Test("the number of people that are remembered is bounded")
    func bounds() {
        var absences = Absences()
        for number in 1...2 * Absences.maxCount + 2 {
            _ = absences.note((version: 2, joined: [], left: ["\(number)"]), in: "room", at: number)
        }
        #expect(!absences.has("1", in: "room") && absences.has("\(2 * Absences.maxCount + 2)", in: "room"))
        #expect(absences.mayHaveCome("1", since: Self.cursor(at: 5)), "what was forgotten counts as changed")
    }
}
