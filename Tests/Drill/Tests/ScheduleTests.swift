import Testing

@testable import parlor_drill

@Suite("The drill's schedule")
struct ScheduleTests {
    private func lines(_ seed: UInt64, _ length: Duration = .seconds(600)) -> [String] {
        Schedule(seed: seed, length: length, kinds: Set(InjectedFault.Kind.allCases)).items.map {
            "\($0.at) \($0.injected)"
        }
    }

    @Test("the same seed gives the same faults, and another seed others")
    func seeds() {
        #expect(lines(7) == lines(7))
        #expect(lines(7) != lines(8))
    }

    @Test("ten minutes contain at least 230 kills, whatever the seed", arguments: 1...20)
    func kills(seed: UInt64) {
        let items = Schedule(seed: seed, length: .seconds(600), kinds: [.kills, .crashes]).items
        #expect(items.count >= 230)
    }

    @Test("faults come in the order of their times, and all begin before the end")
    func order() {
        let items = Schedule(seed: 3, length: .seconds(60), kinds: Set(InjectedFault.Kind.allCases)).items
        #expect(items.map(\.at) == items.map(\.at).sorted())
        #expect(items.allSatisfy { $0.at < .seconds(60) })
    }

    @Test("only the requested kinds of faults occur")
    func kinds() {
        #expect(Schedule(seed: 1, length: .seconds(60), kinds: []).items.isEmpty)
        let items = Schedule(seed: 1, length: .seconds(60), kinds: [.freezes]).items
        #expect(!items.isEmpty)
        #expect(items.allSatisfy { if case .freeze = $0.injected { true } else { false } })
    }
}
