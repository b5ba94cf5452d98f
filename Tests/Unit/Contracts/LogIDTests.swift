import ParlorContracts
import Testing

@Suite("The names of logs")
struct LogIDTests {
    @Test("a service's first log has the service's name, and the others a number after it; each is read as written")
    func names() {
        for (log, name) in [(LogID("polls"), "polls"), (LogID("polls", 3), "polls.3")] {
            #expect(log.name == name && LogID(name: name) == log)
        }
        #expect(Subject.log(of: "polls") == "polls.log" && Subject.logPage(of: LogID("polls", 3)) == "polls.3.events")
    }

    @Test("other names are refused", arguments: ["polls.", "polls.0", "polls.03", "polls.+3", "polls.3.4", "polls.x"])
    func malformed(name: String) { #expect(LogID(name: name) == nil) }
}
