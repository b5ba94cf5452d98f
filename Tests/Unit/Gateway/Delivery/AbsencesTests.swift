import ParlorContracts
import ParlorEventLog
import Testing

@testable import ParlorDelivery

@Suite("People who may get no event of a room")
struct AbsencesTests {
    private static let leaver = PeopleChange.Leaver(userID: "carol", username: "carol", firstName: nil)

    private static func entry(
        _ version: Int, joined: [String] = [], left: [String] = [], at seq: Int
    ) -> LogEntry {
        let left = left.map { PeopleChange.Leaver(userID: $0, username: $0, firstName: nil) }
        return LogEntry(
            log: 0, seq: seq, at: Timestamp(milliseconds: 0), roomID: "room", participants: [], emissions: [],
            fact: .peopleChanged(PeopleChange(roomID: "room", version: version, joined: joined, left: left)),
            requestID: nil)
    }

    private static func missed(
        _ pending: [PeopleChange] = [], _ completed: [LogEntry] = [], of databaseID: String = "db", start: Int
    ) -> OutputLease.UnappliedChanges {
        OutputLease.UnappliedChanges(pending: pending, completed: completed, databaseID: databaseID, start: start)
    }

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
        absences.note(Self.entry(2, joined: ["dave"], at: 7))
        #expect(!absences.has("dave", in: "room"))
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["dave"]))
        #expect(!absences.has("dave", in: "room"), "the fence comes once more, from another instance of Rooms")
    }

    @Test("an earlier entry that arrives late brings nobody back, and removes nobody who has come again")
    func late() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 3, left: [Self.leaver]))
        absences.note(Self.entry(2, joined: ["carol"], at: 5))
        #expect(absences.has("carol", in: "room"))
        absences.note(PeopleChange(roomID: "room", version: 4, joined: ["carol"]))
        absences.note(Self.entry(3, left: ["carol"], at: 6))
        #expect(!absences.admit("carol", to: "room", recordVersion: 3))
        #expect(absences.admit("carol", to: "room", recordVersion: 4))
    }

    @Test("an entry that was noted before its delivery removes nobody who has come again")
    func notedBefore() {
        var absences = Absences()
        for _ in 1...2 {
            absences.note(Self.entry(2, left: ["carol"], at: 5))
            absences.note(Self.entry(3, joined: ["carol"], at: 6))
            #expect(!absences.has("carol", in: "room"))
        }
        #expect(absences.note(Self.entry(2, left: ["carol"], at: 5)) == false)
    }

    @Test("once the gateway has caught up, a fence of a change from before the start of Rooms' log changes nothing")
    func heldUpFence() {
        func fence(_ version: Int, storedAfter seq: Int?) -> PeopleChange {
            PeopleChange(roomID: "room", version: version, left: [Self.leaver], storedAfter: seq)
        }
        var absences = Absences()
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        #expect(!absences.isCaughtUp)
        #expect(absences.note(fence(2, storedAfter: 49)) == true, "the change may be pending")
        #expect(absences.catchUp(with: Self.missed(start: 50)) == [])
        #expect(absences.isCaughtUp)
        #expect(absences.note(fence(3, storedAfter: 49)) == false)
        #expect(absences.note(fence(3, storedAfter: 50)) == true)
        #expect(absences.note(fence(4, storedAfter: nil)) == true, "a program of the release before stored it")
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "restored", seq: 70, digest: 0))
        #expect(absences.isCaughtUp)
        #expect(absences.note(fence(5, storedAfter: 60)) == true, "which changes are pending is not known")
    }

    @Test("who joins with Rooms' record of a change is there, also if the change's entry has not come yet")
    func record() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 3, joined: ["carol"]))
        absences.noteRecord(2, of: "carol", in: "room", after: 7)
        #expect(absences.has("carol", in: "room"))
        absences.noteRecord(3, of: "carol", in: "room", after: 7)
        #expect(!absences.has("carol", in: "room"))
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 7)) == ["room"])
    }

    @Test("who left by a change whose fence did not come is absent from its entry on")
    func missedFence() {
        var absences = Absences()
        #expect(absences.note(Self.entry(2, left: ["carol"], at: 5)) == true)
        #expect(absences.has("carol", in: "room"))
    }

    @Test("who was still coming when the log starts is not absent: the entry of the addition may be before the start")
    func restart() {
        var absences = Absences()
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["dave"]))
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        #expect(!absences.has("dave", in: "room"))
    }

    @Test("a log that starts again, as entries were pruned, keeps what is known; another log does not")
    func pruned() {
        var absences = Absences()
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        absences.note(Self.entry(2, left: ["carol"], at: 51))
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 90, digest: 0))
        #expect(absences.has("carol", in: "room"))
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "restored", seq: 90, digest: 0))
        #expect(!absences.has("carol", in: "room"))
    }

    @Test("a new gateway knows who came and left shortly before the start of its log, once it has caught up")
    func start() {
        var absences = Absences()
        absences.start(LogID("rooms"), after: LogPosition(databaseID: "db", seq: 50, digest: 0))
        #expect(absences.arrivals(of: "bob", since: Self.cursor(at: 50)) == nil, "earlier removals are not known")
        let missed = [
            Self.entry(2, joined: ["bob"], at: 43), Self.entry(3, left: ["carol"], at: 45),
            Self.entry(4, left: ["dave"], at: 47), Self.entry(5, joined: ["dave"], at: 48),
        ]
        let pending = PeopleChange(roomID: "room", version: 7, joined: ["eve"], storedAfter: 49)
        absences.note(Self.entry(6, left: ["frank"], at: 51))
        #expect(absences.catchUp(with: Self.missed([pending], missed, of: "another", start: 40)) == nil)
        #expect(absences.catchUp(with: Self.missed([pending], missed, start: 40)) == ["carol"])
        #expect(absences.arrivals(of: "grace", since: Self.cursor(at: 40)) == [])
        #expect(absences.arrivals(of: "grace", since: Self.cursor(at: 39)) == nil)
        #expect(absences.arrivals(of: "bob", since: Self.cursor(at: 42)) == ["room"])
        #expect(absences.arrivals(of: "bob", since: Self.cursor(at: 43)) == [])
        let absent = ["bob", "carol", "dave", "eve", "frank"].filter { absences.has($0, in: "room") }
        #expect(absent == ["carol", "eve", "frank"], "also carol, although a later entry came first")
    }

    @Test("the rooms to which a person has come since a cursor are known")
    func cursors() {
        var absences = Absences()
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 0)) == [])
        absences.note(PeopleChange(roomID: "room", version: 2, joined: ["carol"]))
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 100)) == [], "she is absent until the entry")
        absences.note(Self.entry(2, joined: ["carol"], at: 101))
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 100)) == ["room"])
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 101)) == [])
        absences.note(Self.entry(3, left: ["carol"], at: 102))
        #expect(absences.arrivals(of: "carol", since: Self.cursor(at: 101)) == [])
        #expect(absences.has("carol", in: "room"))
        #expect(absences.arrivals(of: "bob", since: Self.cursor(at: 0)) == [])
        absences.lose()
        #expect(absences.arrivals(of: "bob", since: Self.cursor(at: 200)) == nil)
    }

    @Test("the number of people that are remembered is bounded")
    func bounds() {
        var absences = Absences()
        for number in 1...2 * Absences.maxCount + 2 {
            absences.note(Self.entry(number, left: ["\(number)"], at: number))
        }
        #expect(!absences.has("1", in: "room") && absences.has("\(2 * Absences.maxCount + 2)", in: "room"))
        #expect(absences.arrivals(of: "1", since: Self.cursor(at: 5)) == nil, "what was forgotten counts as changed")
    }
}
