import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorRoomViews

@Suite("Caching lists of rooms")
struct RoomListCacheTests {
    private static let generationBytes = 64 * 1024
    private let cache = RoomListCache(generationBytes: generationBytes)
    private let start = LogPosition(databaseID: "db", seq: 5, digest: 50)

    init() { cache.start("chat", after: start) }

    private func key(_ userID: String = "ada", sort: RoomSort = .activity) -> RoomListCache.Key {
        RoomListCache.Key(userID: userID, sort: sort)
    }

    private func list(_ bytes: Int = 0, of rooms: [ComposedRoom] = []) -> RoomList {
        // As long as the name of who is offline.
        RoomList(
            RoomComposer.Composed(
                rooms: rooms, degraded: [String(repeating: "x", count: bytes)], unlogged: UnloggedValues(),
                fields: RoomFields([]), present: [:], presenceChanges: 0,
                catalogRevision: 0), by: .activity)
    }

    private func keep(_ key: RoomListCache.Key, bytes: Int = 0) {
        let ticket = cache.begin(key.userID)
        cache.put(list(bytes), key, ticket)
        cache.end(ticket)
    }

    @discardableResult
    private func note(
        _ seq: Int, _ participants: [String] = ["eve"], room: String = "r", in cache: RoomListCache? = nil
    ) -> LogPosition {
        let entry = LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: room, participants: participants,
            emissionsJSON: .emptyArray)
        (cache ?? self.cache).note([entry], of: "chat")
        return LogPosition(after: entry, in: "db")
    }

    private func isCurrent(at end: LogPosition, after known: LogPosition? = nil) -> Bool {
        cache.list(key(), from: ["chat"], at: ["chat": end], after: ["chat": known ?? start]) != nil
    }

    @Test("a list is current up to the position followed in its log")
    func current() {
        keep(key())
        #expect(isCurrent(at: start))
        let next = LogPosition(databaseID: "db", seq: 6, digest: 60)
        #expect(!isCurrent(at: next))
        note(6)
        #expect(isCurrent(at: next))
        #expect(cache.list(key(), from: ["board"], at: ["board": start], after: ["board": start]) == nil)
    }

    @Test("changed rooms count towards the cache's size, until the list is repaired")
    func sizeOfChanges() {
        keep(key())
        let before = cache.size
        note(6, ["ada"])
        #expect(cache.size > before)
        keep(key())
        #expect(cache.size == before)
    }

    @Test("a head that the log had passed before, or another entry at it, is of another history")
    func anotherPast() {
        keep(key())
        #expect(!isCurrent(at: LogPosition(databaseID: "db", seq: 4, digest: 40)))
        #expect(!isCurrent(at: LogPosition(databaseID: "db", seq: 5, digest: 51)))
        #expect(!isCurrent(at: LogPosition(databaseID: "other", seq: 5, digest: 50)))
        // What came since it was asked is no sign of that.
        note(6)
        #expect(isCurrent(at: start))
        cache.start("chat", after: start)
        #expect(!cache.has(key()))
    }

    @Test("an entry makes its room stale in its participants' lists, and a list being composed is not cached")
    func marks() {
        for userID in ["ada", "bob"] {
            for sort in [RoomSort.activity, .content] { keep(key(userID, sort: sort)) }
        }
        let ticket = cache.begin("ada")
        note(6, ["ada"])
        #expect(stale(key()) == ["r"] && stale(key(sort: .content)) == ["r"])
        #expect(stale(key("bob")) == [] && stale(key("bob", sort: .content)) == [])
        cache.put(list(), key(), ticket)
        #expect(stale(key()) == ["r"])
        cache.end(ticket)
        keep(key())
        #expect(stale(key()) == [])
    }

    @Test(
        "a list is kept until half of its rooms have changed, with bounds of 16 and 256",
        arguments: [(rooms: 0, most: 16), (32, 16), (40, 20), (600, 256)])
    func halfChanged(rooms: Int, most: Int) throws {
        let cache = RoomListCache()
        cache.start("chat", after: start)
        let composed = try (0..<rooms).map { number in
            let base = JSONWriter.object { json in
                json.member("id", "\(number)")
                for time in ["createdAt", "updatedAt"] { json.member(time, 0) }
                json.member("participants", array: { _ in })
            }
            return try #require(
                ComposedRoom(base: base.object, RoomFields([]), values: [], present: [], unnamed: .null))
        }
        let ticket = cache.begin("ada")
        cache.put(list(of: composed), key(), ticket)
        for number in 0..<most { note(6 + number, ["ada"], room: "\(number)", in: cache) }
        let last = try #require(cache.list(key(), from: [], at: [:], after: [:]))
        #expect(last.changes.count == most && last.isPatchable == (rooms > 0))
        note(6 + most, ["ada"], room: "\(most)", in: cache)
        #expect(!cache.has(key()))
    }

    @Test("a list is dropped if the changed room is unknown")
    func useless() {
        for userID in ["ada", "bob"] { keep(key(userID)) }
        note(6, ["ada"], room: "")
        #expect(stale(key()) == nil && stale(key("bob")) == [])
    }

    private func stale(_ key: RoomListCache.Key) -> Set<String>? {
        cache.list(key, from: [], at: [:], after: [:]).map { Set($0.changes.keys) }
    }

    @Test("nothing is cached where entries are missing")
    func gap() {
        keep(key())
        let ticket = cache.begin("bob")
        note(8)
        #expect(!cache.has(key()))
        cache.put(list(), key("bob"), ticket)
        #expect(!cache.has(key("bob")))
    }

    @Test("the least recently used lists are dropped when there are too many")
    func bounded() {
        let bytes = Self.generationBytes / 8
        for number in 0..<100 {
            keep(key("\(number)"), bytes: bytes)
            // Asked for again and again.
            #expect(cache.list(key("0"), from: [], at: [:], after: [:]) != nil)
        }
        #expect(cache.size <= 2 * (Self.generationBytes + 2 * bytes))
        #expect(cache.has(key("99")) && !cache.has(key("1")))
        keep(key("large"), bytes: Self.generationBytes * 15 / 16)
        #expect(cache.has(key("large")) && cache.has(key("99")))
        keep(key("huge"), bytes: Self.generationBytes)
        #expect(!cache.has(key("huge")) && cache.has(key("large")))
        keep(key("large", sort: .content), bytes: Self.generationBytes / 2)
        #expect(cache.has(key("large", sort: .content)) && !cache.has(key("large")))
        note(6, ["large"], room: "")
        for number in 0..<100 { note(7 + number, ["\(number)"], room: "") }
        #expect(cache.size == 0)
    }
}
