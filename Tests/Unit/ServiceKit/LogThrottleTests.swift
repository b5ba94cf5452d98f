import ParlorLogging
import Testing

@Suite("Warnings about others, throttled")
struct LogThrottleTests {
    private let start = ContinuousClock.now

    @Test("a reason is logged once a minute, another one at once, and peers do not share their pauses")
    func pauses() {
        var throttle = LogThrottle()
        let notes: [(reason: String, peer: String, at: Duration)] = [
            ("late", "a", .zero), ("late", "a", .seconds(59)), ("late", "b", .zero),
            ("malformed", "b", .zero), ("malformed", "b", .seconds(1)), ("late", "a", .seconds(60)),
        ]
        let logged = notes.map { throttle.note($0.reason, of: $0.peer, at: start + $0.at) }
        #expect(logged == [true, false, true, true, false, true])
    }

    @Test("reasons that alternate are logged once each, and a peer with ever new ones is silenced")
    func alternating() {
        var throttle = LogThrottle()
        let alternating = (0..<59).map {
            throttle.note($0.isMultiple(of: 2) ? "a" : "b", of: "x", at: start + .seconds($0))
        }
        #expect(alternating.count(where: \.self) == 2)
        let new = (0..<59).map { throttle.note("\($0)", of: "y", at: start + .seconds($0)) }
        #expect(new.count(where: \.self) == 16)
    }

    @Test("the number of remembered peers is limited: then their warnings are logged again")
    func peers() {
        var throttle = LogThrottle()
        let names = (0..<2_000).map(String.init) + ["0", "1999"]
        let logged = names.map { throttle.note("late", of: $0, at: start) }
        #expect(logged.dropLast().allSatisfy(\.self) && logged.last == false)
    }
}
