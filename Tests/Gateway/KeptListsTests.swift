import Contracts
import JSON
import Testing

@testable import Gateway

@Suite("Keeping lists of rooms")
struct KeptListsTests {
    private static let generationBytes = 64 * 1024
    private let kept = KeptLists(generationBytes: generationBytes)
    private let start = Bookmark(databaseID: "db", seq: 5, digest: 50)

    init() { kept.start("chat", after: start) }

    private func key(_ userID: String = "ada", sort: ComposedRoom.Sort = .activity) -> KeptLists.Key {
        KeptLists.Key(userID: userID, sort: sort)
    }

    private func list(_ bytes: Int = 0) -> RoomList {
        // As long as the name of who is away.
        RoomList(
            RoomComposer.Composed(
                rooms: [], degraded: [String(repeating: "x", count: bytes)], present: [:], presenceChanges: 0,
                catalogRevision: 0), by: .activity)
    }

    private func keep(_ key: KeptLists.Key, bytes: Int = 0) {
        let ticket = kept.begin(key.userID)
        kept.keep(list(bytes), key, ticket)
        kept.end(ticket)
    }

    @discardableResult
    private func note(_ seq: Int, _ participants: [String] = ["eve"], room: String = "r") -> Bookmark {
        let entry = StreamEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: room, participants: participants,
            emissionsJSON: .emptyArray)
        kept.note([Broadcast(entry, of: "chat")], of: "chat")
        return Bookmark(after: entry, in: "db")
    }

    private func isCurrent(at end: Bookmark, after known: Bookmark? = nil) -> Bool {
        kept.list(key(), at: ["chat": end], after: ["chat": known ?? start]) != nil
    }

    @Test("a list is current as far as its log was followed")
    func current() {
        keep(key())
        #expect(isCurrent(at: start))
        let next = Bookmark(databaseID: "db", seq: 6, digest: 60)
        #expect(!isCurrent(at: next))
        note(6)
        #expect(isCurrent(at: next))
        #expect(kept.list(key(), at: ["board": start], after: ["board": start]) == nil)
    }

    @Test("an end that the log had passed before, or another entry at it, is of another past")
    func anotherPast() {
        keep(key())
        #expect(!isCurrent(at: Bookmark(databaseID: "db", seq: 4, digest: 40)))
        #expect(!isCurrent(at: Bookmark(databaseID: "db", seq: 5, digest: 51)))
        #expect(!isCurrent(at: Bookmark(databaseID: "other", seq: 5, digest: 50)))
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

    @Test("a list of which too much was changed, or it is not known what, is dropped")
    func useless() {
        for userID in ["ada", "bob"] { keep(key(userID)) }
        for number in 1...KeptLists.maxStale { note(5 + number, ["ada"], room: "\(number)") }
        #expect(stale(key())?.count == KeptLists.maxStale)
        note(6 + KeptLists.maxStale, ["ada"], room: "one more")
        #expect(stale(key()) == nil && stale(key("bob")) == [])
        note(7 + KeptLists.maxStale, ["bob"], room: "")
        #expect(kept.size == 0)
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
        keep(key("huge"), bytes: Self.generationBytes)
        #expect(!kept.has(key("huge")))
        for number in 0..<100 { note(6 + number, ["\(number)"], room: "") }
        #expect(kept.size == 0)
    }
}
