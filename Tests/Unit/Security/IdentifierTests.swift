import ParlorSecurity
import ParlorTestSupport
import Synchronization
import Testing

@Suite("Ids and randomness")
struct IdentifierTests {
    @Test("an id has the form, the version and the time of RFC 9562")
    func form() throws {
        let id = UUIDv7Generator().next(at: 0x0123_4567_89AB)
        #expect(id.utf8.count == 36)
        #expect(id.hasPrefix("01234567-89ab-7"))
        let characters = Array(id)
        #expect([8, 13, 18, 23].allSatisfy { characters[$0] == "-" })
        #expect("89ab".contains(characters[19]))
        #expect(id.allSatisfy { "0123456789abcdef-".contains($0) })
    }

    @Test("ids sort in the order of creation: within a millisecond, beyond its counter, and when the clock goes back")
    func order() {
        let generator = UUIDv7Generator(randomness: SeededRandomness(seed: 1))
        var ids: [String] = []
        for _ in 0..<20_000 { ids.append(generator.next(at: 1000)) }
        for time in [1001, 500, 0, -5, Int.min, 2000, 1999] { ids.append(generator.next(at: time)) }
        #expect(ids == ids.sorted())
        #expect(Set(ids).count == ids.count)
    }

    @Test("concurrent tasks get different ids, each in order")
    func concurrency() async {
        let generator = UUIDv7Generator()
        let all = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<8 { group.addTask { (0..<1000).map { _ in generator.next(at: 5) } } }
            return await group.reduce(into: [String]()) { all, ids in
                #expect(ids == ids.sorted())
                all += ids
            }
        }
        #expect(Set(all).count == 8000)
    }

    @Test("a name has one id, a UUID of version 8 from its SHA-256")
    func named() {
        // The digest of "abc" in FIPS 180-2 begins with ba7816bf 8f01cfea 414140de 5dae2223.
        #expect(UUIDv8.of("abc") == "ba7816bf-8f01-8fea-8141-40de5dae2223")
        #expect(UUIDv8.of("abc") == UUIDv8.of("abc"))
        #expect(UUIDv8.of("abd") != UUIDv8.of("abc"))
    }

    @Test("a time beyond 48 bits is no error")
    func farFuture() {
        #expect(UUIDv7Generator().next(at: .max).utf8.count == 36)
        let generator = UUIDv7Generator()
        for _ in 0..<5000 { #expect(generator.next(at: 0xFFFF_FFFF_FFFF).utf8.count == 36) }
    }

    @Test("a seed gives the same bytes again, another seed others, and the system never the same")
    func randomness() {
        #expect(SeededRandomness(seed: 3).bytes(64) == SeededRandomness(seed: 3).bytes(64))
        #expect(SeededRandomness(seed: 3).bytes(64) != SeededRandomness(seed: 4).bytes(64))
        #expect(SystemRandomness().bytes(32) != SystemRandomness().bytes(32))
        #expect(SystemRandomness().bytes(0) == [])
    }
}
