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

    @Test("each generation has numbers of its own, and is read as written")
    func layouts() {
        let all = (1...3).flatMap { generation in
            LogLayout.range.map { LogLayout(generation: generation, count: $0) }
        }
        for layout in all + [.single] { #expect(LogLayout(numbers: layout.numbers) == layout) }
        #expect(LogLayout.single.numbers == [0] && LogLayout(generation: 2, count: 3).numbers == [200, 201, 202])
        for numbers in [
            [], [1], [0, 1], [5], [101], [100, 102], [101, 100], [100, 200], Array(100...116), [-100], [100_000],
        ] {
            #expect(LogLayout(numbers: numbers) == nil)
        }
    }
}
