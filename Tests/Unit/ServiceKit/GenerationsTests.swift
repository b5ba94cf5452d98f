import ParlorServiceKit
import Testing

@Suite("A cache that forgets unused entries")
struct GenerationsTests {
    private func table(maxCount: Int = .max, maxBytes: Int = .max) -> Generations<Int, String> {
        Generations(maxCount: maxCount, maxBytes: maxBytes) { $0.utf8.count }
    }

    @Test("a stored value is found, and a later one replaces it")
    func found() {
        var table = table()
        #expect(table[1] == nil && table.use(1) == nil)
        table.put("one", for: 1)
        table.put("eins", for: 1)
        #expect(table[1] == "eins" && table.use(1) == "eins")
        #expect(table.bytes == 4)
    }

    @Test("entries unused for two generations by number are dropped")
    func byCount() {
        var table = table(maxCount: 10)
        for number in 0..<20 { table.put("x", for: number) }
        #expect((0..<20).allSatisfy { table[$0] == "x" })
        table.put("x", for: 20)
        #expect((0..<10).allSatisfy { table[$0] == nil })
        #expect((10...20).allSatisfy { table[$0] == "x" })
    }

    @Test("two generations bound the bytes, except for a single larger value")
    func byBytes() {
        var table = table(maxBytes: 100)
        for number in 0..<50 {
            table.put(String(repeating: "x", count: 30), for: number)
            #expect(table.bytes <= 200)
        }
        #expect(table.bytes > 100)
        table.put(String(repeating: "x", count: 500), for: 50)
        #expect(table[50] != nil && table[49] != nil)
        table.put("x", for: 51)
        #expect(table[50] != nil && table[49] == nil)
        table.put("x", for: 52)
        #expect(table.bytes == 502)
    }

    @Test("used and stored entries stay; entries read otherwise or changed do not")
    func renewed() {
        var table = table(maxCount: 10)
        for number in 0..<4 { table.put("\(number)", for: number) }
        for number in 10..<100 {
            table.put("x", for: number)
            #expect(table.use(0) == "0")
            table.put("1", for: 1)
            _ = table[2]
            table.change(3) { $0?.append("x") }
        }
        #expect(table[0] == "0" && table[1] == "1")
        #expect(table[2] == nil && table[3] == nil)
    }

    @Test("a change happens in place, is counted, and may remove the entry; it is not called for a missing one")
    func changed() {
        var table = table(maxCount: 2)
        for number in 1...4 { table.put("x", for: number) }
        for number in [1, 3] { table.change(number) { $0?.append("yz") } }
        #expect(table[1] == "xyz" && table[3] == "xyz" && table.bytes == 8)
        for number in [2, 4] { table.change(number) { $0 = nil } }
        #expect(table[2] == nil && table[4] == nil && table.bytes == 6)
        table.change(5) { _ in Issue.record("there is no such thing") }
    }

    @Test("a removed entry is gone with its bytes, be it young or old")
    func removed() {
        var table = table(maxCount: 2)
        for number in 1...4 { table.put("x", for: number) }
        #expect(table.remove(1) == "x" && table.remove(4) == "x" && table.remove(5) == nil)
        #expect(table[1] == nil && table[4] == nil && table.bytes == 2)
        table.removeAll()
        #expect(table[2] == nil && table[3] == nil && table.bytes == 0)
    }
}
