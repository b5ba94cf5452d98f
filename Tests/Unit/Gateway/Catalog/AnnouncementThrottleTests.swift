import ParlorJSON
import ParlorMessageBus
import ParlorTestSupport
import Testing

@testable import ParlorGatewayCatalog

@Suite("Announcements at a bounded rate")
struct AnnouncementThrottleTests {
    private let passed = Arrivals<String>()

    private func message(_ subject: String, _ number: Int) -> BusMessage {
        BusMessage(subject: subject, payload: JSONValue("\(subject) \(number)"))
    }

    @Test(
        "the first of a flood passes at once, and then the latest; other services are not delayed",
        .timeLimit(.minutes(1)))
    func flood() async throws {
        let throttle = AnnouncementThrottle { [passed] in passed.add($0.data.string ?? "") }
        for number in 1...1_000 { throttle.receive(message("a", number)) }
        throttle.receive(message("b", 1))
        #expect(try await passed.next() == "a 1")
        let others = [try await passed.next(), try await passed.next()]
        #expect(others.contains("b 1"))
        // A slow machine may pass on a few of the thousand, and always the last one.
        var last = others.last { $0.hasPrefix("a") }
        while last != "a 1000" { last = try await passed.next() }
    }
}
