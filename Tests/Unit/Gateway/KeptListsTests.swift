import Contracts
import EventLog
import JSON
import Testing

@testable import Gateway

@Suite("Keeping lists of rooms")
struct KeptListsTests {
    private static let generationBytes = 64 * 1024
    private let kept = KeptLists(generationBytes: generationBytes)
    private let start = LogPosition(databaseID: "db", seq: 5, digest: 50)

    init() { kept.start("chat", after: start) }

    private func key(_ userID: String = "ada", sort: ComposedRoom.Sort = .activity) -> KeptLists.Key {
        KeptLists.Key(userID: userID, sort: sort)
    }

    private func list(_ bytes: Int = 0, of rooms: [ComposedRoom] = []) -> RoomList {
        // As long as the name of who is away.
        RoomList(
            RoomComposer.Composed(
                rooms: rooms, degraded: [String(repeating: "x", count: bytes)], present: [:], presenceChanges: 0,
                catalogRevision: 0), by: .activity)
    }

    private func keep(_ key: KeptLists.Key, bytes: Int = 0) {
        let ticket = kept.begin(key.userID)
        kept.keep(list(bytes), key, ticket)
        kept.end(ticket)
    }

    @discardableResult
    private func note(
        _ seq: Int, _ participants: [String] = ["eve"], room: String = "r", in kept: KeptLists? = nil
    ) -> LogPosition {
        let entry = LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: room, participants: participants,
            emissionsJSON: .emptyArray)
        (kept ?? self.kept).note([Broadcast(entry, of: "chat")], of: "chat")
        return LogPosition(after: entry, in: "db")
    }

    private func isCurrent(at end: LogPosition, after known: LogPosition? = nil) -> Bool {
        kept.list(key(), at: ["chat": end], after: ["chat": known ?? start]) != nil
    }

    @Test("a list is current as far as its log was followed")
    func current() {
        keep(key())
        #expect(isCurrent(at: start))
        let next = LogPosition(databaseID: "db", seq: 6, digest: 60)
        #expect(!isCurrent(at: next))
        note(6)
        #expect(isCurrent(at: next))
        #expect(kept.list(key(), at: ["board": start], after: ["board": start]) == nil)
    }

    @Test("the rooms that were changed count for what is kept, until the list is mended")
    func sizeOfChanges() {
        keep(key())
        let before = kept.size
        note(6, ["ada"])
        #expect(kept.size > before)
        keep(key())
        #expect(kept.size == before)
    }

    @Test("an end that the log had passed before, or another entry at it, is of another past")
    func anotherPast() {
        keep(key())
        #expect(!isCurrent(at: LogPosition(databaseID: "db", seq: 4, digest: 40)))
        #expect(!isCurrent(at: LogPosition(databaseID: "db", seq: 5, digest: 51)))
        #expect(!isCurrent(at: LogPosition(databaseID: "other", seq: 5, digest: 50)))
        // What came since it was asked is no sign of that.
        note(6)
        #expect(isCurrent(at: start))
        kept.start("chat", after: start)
        #expect(!kept.has(key()))
    }

    @Test("an entry makes its room stale in its participants' lists, and what is composed for them is not kept")
    func marks() {
        for userID in ["ada", "bob"] {
            for sort in [ComposedRoom.Sort.activity, .content] { keep(key(userID, sort: sort)) }
        }
        let ticket = kept.begin("ada")
        note(6, ["ada"])
        #expect(stale(key()) == ["r"] && stale(key(sort: .content)) == ["r"])
        #expect(stale(key("bob")) == [] && stale(key("bob", sort: .content)) == [])
        kept.keep(list(), key(), ticket)
        #expect(stale(key()) == ["r"])
        kept.end(ticket)
        keep(key())
        #expect(stale(key()) == [])
    }

    @Test(
        "a list is kept until half of its rooms were changed, and no less than sixteen nor more than 256",
        arguments: [(rooms: 0, most: 16), (32, 16), (40, 20), (600, 256)])
    func halfChanged(rooms: Int, most: Int) throws {
        let kept = KeptLists()
        kept.start("chat", after: start)
        let composed = try (0..<rooms).map { number in
            let base = JSONWriter.object { json in
                json.member("id", "\(number)")
                for time in ["createdAt", "updatedAt"] { json.member(time, 0) }
                json.member("participants", array: { _ in })
            }
            return try #require(
                ComposedRoom(base: base, RoomFields([]), values: [], present: [], unnamed: .null))
        }
        let ticket = kept.begin("ada")
        kept.keep(list(of: composed), key(), ticket)
        for number in 0..<most { note(6 + number, ["ada"], room: "\(number)", in: kept) }
        let last = try #require(kept.list(key(), at: [:], after: [:]))
        #expect(last.stale.count == most && last.isMendable == (rooms > 0))
        note(6 + most, ["ada"], room: "\(most)", in: kept)
        #expect(!kept.has(key()))
    }

    @Test("a list of which it is not known what was changed is dropped")
    func useless() {
        for userID in ["ada", "bob"] { keep(key(userID)) }
        note(6, ["ada"], room: "")
        #expect(stale(key()) == nil && stale(key("bob")) == [])
    }

    private func stale(_ key: KeptLists.Key) -> Set<String>? { kept.list(key, at: [:], after: [:])?.stale }

    @Test("where entries are missing, nothing is kept")
    func gap() {
        keep(key())
        let ticket = kept.begin("bob")
        note(8)
        #expect(!kept.has(key()))
        kept.keep(list(), key("bob"), ticket)
        #expect(!kept.has(key("bob")))
    }

    @Test("what is not asked for goes when there is too much")
    func bounded() {
        let bytes = Self.generationBytes / 8
        for number in 0..<100 {
            keep(key("\(number)"), bytes: bytes)
            // Asked for again and again.
            #expect(kept.list(key("0"), at: [:], after: [:]) != nil)
        }
        #expect(kept.size <= 2 * (Self.generationBytes + 2 * bytes))
        #expect(kept.has(key("99")) && !kept.has(key("1")))
        keep(key("large"), bytes: Self.generationBytes * 15 / 16)
        #expect(kept.has(key("large")) && kept.has(key("99")))
        keep(key("huge"), bytes: Self.generationBytes)
        #expect(!kept.has(key("huge")) && kept.has(key("large")))
        keep(key("large", sort: .content), bytes: Self.generationBytes / 2)
        #expect(kept.has(key("large", sort: .content)) && !kept.has(key("large")))
        note(6, ["large"], room: "")
        for number in 0..<100 { note(7 + number, ["\(number)"], room: "") }
        #expect(kept.size == 0)
    }
}
