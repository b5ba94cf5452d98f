import ParlorJSON
import Testing

@testable import ParlorRoomViews

@Suite("Services' last contributions")
struct StaleRoomCacheTests {
    private let known = StaleRoomCache()

    private func note(_ rooms: [String], _ values: [Int], person: String = "ada") {
        known.note("chat", person, rooms, Self.json(values), as: .some)
    }

    private func noteAll(_ rooms: [String], _ values: [Int]) {
        known.note("chat", "ada", rooms, Self.json(values), as: .all)
    }

    private static func json(_ values: [Int]) -> [JSONValue] {
        values.map { value in JSONWriter.value { $0.array { $0.number(value) } } }
    }

    private func values(_ rooms: [String], person: String = "ada") -> [String?] {
        known.values("chat", person, rooms).map { $0?.text }
    }

    @Test("nothing is known of a room without values, nor of another person's")
    func unknown() {
        note(["1"], [10])
        #expect(values(["1", "2"]) == ["[10]", nil])
        #expect(values(["1"], person: "bob") == [nil])
        #expect(known.values("board", "ada", ["1"]) == [nil])
    }

    @Test("values are returned in the requested order")
    func order() {
        note(["1", "2", "3"], [10, 20, 30])
        #expect(values(["3", "1", "4"]) == ["[30]", "[10]", nil])
    }

    @Test("the later answer counts, whether it covers one room or all")
    func later() {
        noteAll(["1", "2"], [10, 20])
        note(["1"], [11])
        #expect(values(["1", "2"]) == ["[11]", "[20]"])
        noteAll(["1", "2"], [12, 22])
        #expect(values(["1", "2"]) == ["[12]", "[22]"])
        note(["2"], [23])
        #expect(values(["2"]) == ["[23]"])
    }

    @Test("a room that a later list leaves out is still known from its own answer")
    func leftOut() {
        note(["9"], [90])
        noteAll(["1", "2"], [10, 20])
        #expect(values(["9", "1"]) == ["[90]", "[10]"])
    }

    @Test("values known of some rooms do not retain the whole replies that they came from")
    func copies() throws {
        let ids = (0..<400).map(String.init)
        let answer = try #require(try JSONValue(parsing: "[" + ids.joined(separator: ",") + "]").array)
        let parts = { [known] in known.values("chat", "ada", ids).filter { $0?.bytes.startIndex != 0 }.count }
        known.note("chat", "ada", ids, answer, as: .all)
        #expect(parts() == 400)
        known.note("chat", "ada", Array(ids[..<100]), Array(answer[..<100]), as: .some)
        #expect(parts() == 300)
        // Too many to be kept beside the list, which is then rebuilt.
        known.note("chat", "ada", Array(ids[100..<300]), Array(answer[100..<300]), as: .some)
        #expect(parts() == 0)
    }

    @Test("any number of single-room values since the list loses neither list nor values")
    func many() {
        let (all, some) = ((0..<1000).map(String.init), (500..<1200).map(String.init))
        noteAll(all, Array(0..<1000))
        note(["3"], [-3])
        note(some, Array(500..<1200).map { -$0 })
        for id in ["1", "2"] { note([id], [-1]) }
        let expected = [0, -1, -1, -3] + Array(4..<500) + Array(500..<1200).map { -$0 }
        #expect(values((0..<1200).map(String.init)) == expected.map { "[\($0)]" })
    }

    /// Notes values of so many other people, new ones in each round.
    private func noteOthers(_ count: Int = StaleRoomCache.generationSize, round: Int) {
        for number in 0..<count { note(["1"], [number], person: "\(round)-\(number)") }
    }

    @Test("the person without an update for longest is forgotten, by number")
    func bounded() {
        noteOthers(2 * StaleRoomCache.generationSize + 1, round: 0)
        #expect(values(["1"], person: "0-0") == [nil])
        #expect(
            values(["1"], person: "0-\(2 * StaleRoomCache.generationSize)") == [
                "[\(2 * StaleRoomCache.generationSize)]"
            ])
    }

    @Test("unchanged replies count as updates, and the values of a service that is down for long stay")
    func renewed() {
        note(["1", "2"], [10, 20])
        note(["1"], [11])
        for round in 0..<3 {
            noteOthers(round: round)
            known.renew("ada")
        }
        for round in 3..<6 {
            noteOthers(round: round)
            known.note("board", "ada", ["3"], [JSONValue(round)], as: .some)
        }
        #expect(values(["1", "2"]) == ["[11]", "[20]"])
        for round in 6..<8 { noteOthers(round: round) }
        #expect(values(["1", "2"]) == [nil, nil])
    }

    @Test("large lists push out older ones sooner, by size")
    func boundedInBytes() {
        let rooms = (0..<10_000).map { "room-\($0)" }
        for person in 0..<200 { note(rooms, Array(repeating: 1_000_000_000, count: rooms.count), person: "p\(person)") }
        #expect(values(["room-1"], person: "p0") == [nil])
        #expect(values(["room-1"], person: "p199") == ["[1000000000]"])
    }
}
