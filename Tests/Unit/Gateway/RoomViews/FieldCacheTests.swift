import ParlorContracts
import ParlorEventLog
import ParlorJSON
import Testing

@testable import ParlorGatewayCatalog
@testable import ParlorRoomViews

@Suite("Cached fields of messages and people")
struct FieldCacheTests {
    private let cache = FieldCache()

    private static func source(_ service: String, _ paths: String...) -> FieldCache.Source {
        FieldCache.Source(service, Contribution(subject: "x.y", fields: paths.map { .init($0, zero: .null) }))
    }

    init() { cache.start("stars", after: LogPosition(databaseID: "d", seq: 4, digest: 0)) }

    private func entry(_ seq: Int, _ fact: Fact? = nil) -> LogEntry {
        LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: "r", participants: [], emissions: [], fact: fact)
    }

    private func put(
        _ ids: String..., by service: String = "stars", of kind: ShownObject = .messages, for viewer: String = "ada",
        asOf moment: FieldCache.Moment?
    ) {
        cache.put(ids.map { JSONValue($0) }, of: kind, ids, by: Self.source(service), for: viewer, asOf: moment)
    }

    /// Returns each value, with `!` if it is not current.
    private func values(
        _ ids: String..., by service: String = "stars", of kind: ShownObject = .messages, for viewer: String = "ada"
    ) -> [String] {
        cache.values(of: kind, ids, by: Self.source(service), for: viewer).map { value in
            value.map { ($0.json.string ?? "") + ($0.isCurrent ? "" : "!") } ?? "-"
        }
    }

    @Test("a value is current for its viewer until an entry names its message")
    func change() {
        put("a", "b", asOf: cache.moment(of: "stars"))
        put("a", for: "bob", asOf: cache.moment(of: "stars"))
        put("a", of: .people, asOf: cache.moment(of: "stars"))
        #expect(values("a", "b", "c") == ["a", "b", "-"])
        cache.note([entry(5), entry(6, .fieldsChanged(messageIDs: ["a"]))], of: "stars")
        #expect(values("a", "b") == ["a!", "b"] && values("a", for: "bob") == ["a!"])
        #expect(values("a", of: .people) == ["a"])
        cache.note([entry(7, .fieldsChanged(personIDs: ["a"]))], of: "stars")
        #expect(values("a", of: .people) == ["a!"])
        put("a", asOf: cache.moment(of: "stars"))
        #expect(values("a") == ["a"])
    }

    @Test("a reply to a request from before a change is not current")
    func race() {
        let moment = cache.moment(of: "stars")
        cache.note([entry(5, .fieldsChanged(messageIDs: ["a"]))], of: "stars")
        put("a", "b", asOf: moment)
        #expect(values("a", "b") == ["a!", "b"])
    }

    @Test("at a gap, or if the log is replaced, all values of the service are dropped, and those of others stay")
    func gap() {
        cache.start("hearts", after: LogPosition(databaseID: "h", seq: 0, digest: 0))
        for replace in [
            { cache.note([entry(6)], of: "stars") }, { cache.note([entry(7), entry(9)], of: "stars") },
            { cache.start("stars", after: LogPosition(databaseID: "e", seq: 9, digest: 0)) },
        ] {
            put("a", asOf: cache.moment(of: "stars"))
            put("a", by: "hearts", asOf: cache.moment(of: "hearts"))
            let before = cache.moment(of: "stars")
            replace()
            #expect(values("a") == ["-"] && values("a", by: "hearts") == ["a"])
            // The reply to a request from before it is of no use either.
            put("a", asOf: before)
            #expect(values("a") == ["-"])
        }
    }

    @Test("values are not those of a service with other fields")
    func otherFields() {
        let (old, new) = (Self.source("stars", "stars"), Self.source("stars", "stars", "moons"))
        cache.put([JSONValue("x")], of: .messages, ["a"], by: old, for: "ada", asOf: cache.moment(of: "stars"))
        #expect(cache.values(of: .messages, ["a"], by: old, for: "ada").map { $0 != nil } == [true])
        #expect(cache.values(of: .messages, ["a"], by: new, for: "ada").map { $0 != nil } == [false])
    }

    @Test("without a log that has each change, values are for outages only")
    func unlogged() {
        #expect(cache.moment(of: "nobody") == nil)
        put("a", by: "nobody", asOf: nil)
        #expect(values("a", by: "nobody") == ["a!"])
    }

    @Test("beyond the limit of changes, all values of the service are old, until they are asked for again")
    func manyChanges() {
        put("a", "b", asOf: cache.moment(of: "stars"))
        let changed = (0...FieldCache.maxChanged).map { "m\($0)" }
        cache.note([entry(5, .fieldsChanged(messageIDs: changed))], of: "stars")
        #expect(values("a", "b") == ["a!", "b!"])
        put("a", asOf: cache.moment(of: "stars"))
        #expect(values("a", "b") == ["a", "b!"])
    }

    @Test("an object with a long id is not cached, and a change of one makes all values of the service old")
    func longIDs() {
        let long = String(repeating: "x", count: FieldCache.maxIDBytes + 1)
        put("a", long, asOf: cache.moment(of: "stars"))
        #expect(values("a", long) == ["a", "-"])
        cache.note([entry(5, .fieldsChanged(messageIDs: [long]))], of: "stars")
        #expect(values("a") == ["a!"])
    }

    @Test("values are limited in bytes: the least recently used are evicted")
    func limit() {
        let small = FieldCache(generationBytes: 10_000)
        small.start("stars", after: LogPosition(databaseID: "d", seq: 0, digest: 0))
        let moment = small.moment(of: "stars")
        for number in 0..<1_000 {
            small.put(
                [JSONValue("x")], of: .messages, ["m\(number)"], by: Self.source("stars"), for: "ada", asOf: moment)
            _ = small.values(of: .messages, ["m0"], by: Self.source("stars"), for: "ada")
            #expect(small.size <= 20_000)
        }
        let left = small.values(of: .messages, ["m0", "m1", "m999"], by: Self.source("stars"), for: "ada").map {
            $0 != nil
        }
        #expect(left == [true, false, true])
    }
}
