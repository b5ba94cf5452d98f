import ParlorContracts
import Testing

@Suite("The names of logs")
struct LogIDTests {
    @Test("a service's first log has the service's name, and the others a number after it; each is read as written")
    func names() {
        for (log, name) in [(LogID("polls"), "polls"), (LogID("polls", 3), "polls.3")] {
            #expect(log.name == name && LogID(name: name) == log)
        }
        #expect(Subject.log(of: "polls") == "polls.log" && Subject.log(of: LogID("polls", 403)) == "polls.log.403")
        #expect(Subject.logPage(of: LogID("polls", 403)) == "polls.events")
    }

    @Test("other names are refused", arguments: ["polls.", "polls.0", "polls.03", "polls.+3", "polls.3.4", "polls.x"])
    func malformed(name: String) { #expect(LogID(name: name) == nil) }

    @Test("a layout has numbers of its own, and a room the same one everywhere")
    func layouts() {
        let all = LogLayout.range.map { LogLayout(count: $0).numbers }
        #expect(Set(all.joined()).count == 136 && all.joined().allSatisfy(LogLayout.numbers.contains))
        #expect(all[0] == [0] && all[3] == [400, 401, 402, 403])
        for numbers in all {
            #expect(LogLayout.isWhole(numbers.reversed()))
            #expect(!LogLayout.isWhole(Array(numbers.dropLast())))
        }
        #expect(!LogLayout.isWhole([5]) && !LogLayout.isWhole([9900]))
        let rooms = ["", "room", "0192d3c4-5a6b-7c8d-9e0f-1a2b3c4d5e6f", "é"]
        #expect(rooms.map(LogLayout.single.number) == [0, 0, 0, 0])
        #expect(rooms.map(LogLayout(count: 4).number) == [401, 401, 401, 402])
        #expect(LogLayout(count: 3).number(ofRoom: "é") == 302)
        #expect(rooms.map(LogLayout(count: 16).number) == [1601, 1605, 1613, 1606])
    }
}
