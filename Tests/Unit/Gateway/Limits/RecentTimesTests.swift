import Testing

@testable import ParlorGatewayLimits

@Suite("Times of the most recently used keys")
struct RecentTimesTests {
    @Test("a written value reads back until it is removed")
    func readsBack() {
        var times = RecentTimes<String>(capacity: 8)
        #expect(times["a"] == nil)
        times["a"] = 1
        times["a"] = 2
        #expect(times["a"] == 2)
        times["a"] = nil
        #expect(times["a"] == nil)
    }

    @Test("the most recently used keys stay, by reading or by writing; the others go")
    func forgets() {
        var times = RecentTimes<Int>(capacity: 8)
        let (read, written) = (-1, -2)
        times[read] = 7
        for number in 0..<1000 {
            times[number] = 1
            times[written] = number
            #expect(times[read] == 7)
        }
        #expect(times[written] == 999)
        #expect(times[999] == 1 && times[990] == nil)
        #expect((0..<1000).filter { times[$0] != nil }.count < 8)
    }

    @Test("a removed key does not come back with an older time")
    func takenAway() {
        var times = RecentTimes<Int>(capacity: 4)
        times[0] = 5
        for number in 1...2 { times[number] = 1 }
        times[0] = nil
        #expect(times[0] == nil)
    }
}
