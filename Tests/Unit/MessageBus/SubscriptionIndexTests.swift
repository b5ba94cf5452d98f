import Testing

@testable import ParlorMessageBus

@Suite("the index of subscriptions")
struct SubscriptionIndexTests {
    /// Returns whether a pattern matches, by the rule itself, without a trie.
    private func matches(_ pattern: String, _ subject: String) -> Bool {
        var tokens = subject.split(separator: ".")[...]
        for part in pattern.split(separator: ".") {
            if part == ">" { return !tokens.isEmpty }
            guard let token = tokens.popFirst(), part == "*" || part == token else { return false }
        }
        return tokens.isEmpty
    }

    @Test("it agrees with the matching rule for any patterns, added and removed in any order")
    func againstTheRule() {
        var random = SystemRandomNumberGenerator()
        func name(wildcards: Bool) -> String {
            var tokens = (0..<Int.random(in: 1...4, using: &random)).map { _ in
                ["a", "b", "c", wildcards ? "*" : "a"].randomElement(using: &random) ?? "a"
            }
            if wildcards, Bool.random(using: &random) { tokens.append(">") }
            return tokens.joined(separator: ".")
        }
        var index = SubscriptionIndex<UInt64>()
        var standing: [UInt64: String] = [:]
        for id in 1...2_000 as ClosedRange<UInt64> {
            let pattern = name(wildcards: true)
            index.insert(id, id: id, pattern: pattern, queue: nil, instance: 0)
            standing[id] = pattern
            if standing.count > 20, let gone = standing.keys.randomElement(using: &random) {
                index.remove(gone)
                standing[gone] = nil
            }
            let subject = name(wildcards: false)
            let expected = standing.filter { matches($0.value, subject) }.keys.sorted()
            #expect(index.match(subject).everyone == expected)
            #expect(index.match(subject).everyone == expected)
        }
        for id in standing.keys { index.remove(id) }
        #expect(index.count == 0)
        #expect(index.match("a").isEmpty)
    }

    @Test("queues are separate, in the order of their addition")
    func queues() {
        var index = SubscriptionIndex<String>()
        index.insert("1", id: 1, pattern: "a.*", queue: "x", instance: 1)
        index.insert("2", id: 2, pattern: "a.b", queue: "y", instance: 2)
        index.insert("3", id: 3, pattern: ">", queue: "x", instance: 3)
        index.insert("4", id: 4, pattern: ">", queue: nil, instance: 3)
        let match = index.match("a.b")
        #expect(match.everyone == ["4"])
        #expect(match.groups.map(\.queue) == ["x", "y"])
        #expect(match.groups.map { $0.members.map(\.subscriber) } == [["1", "3"], ["2"]])
        index.remove(1)
        #expect(index.match("a.b").groups.map(\.queue) == ["y", "x"])
    }

    @Test("removing an absent subscription changes nothing")
    func removeUnknown() {
        var index = SubscriptionIndex<Int>()
        index.insert(1, id: 1, pattern: "a", queue: nil, instance: 0)
        index.remove(2)
        #expect(index.match("a").everyone == [1])
    }

    @Test("more subjects than are cached are still matched correctly")
    func manySubjects() {
        var index = SubscriptionIndex<Int>()
        index.insert(1, id: 1, pattern: "a.*", queue: nil, instance: 0)
        for number in 0..<10_000 { #expect(index.match("a.\(number)").everyone == [1]) }
    }
}

@Suite("queue groups")
struct QueueGroupTests {
    private func group(_ members: [(id: UInt64, instance: UInt64)]) -> QueueGroup<UInt64> {
        QueueGroup(queue: "q", members: members.map { .init(id: $0.id, instance: $0.instance, subscriber: $0.id) })
    }

    @Test("requests without a key go round-robin")
    func turns() {
        let group = group([(1, 1), (2, 2), (3, 3)])
        #expect((0..<6).map { group.pick(key: nil, turn: $0) } == [1, 2, 3, 1, 2, 3])
        _ = group.pick(key: nil, turn: .max)
    }

    @Test("a key selects the same instance by any of its subscriptions")
    func instances() {
        let first = group([(1, 7), (2, 8), (3, 9)])
        let second = group([(11, 7), (12, 8), (13, 9)])
        for key in 0..<200 as Range<UInt64> {
            #expect(first.pick(key: key, turn: 0) + 10 == second.pick(key: key, turn: 5))
        }
    }

    @Test("keys spread evenly, also over the subscriptions of one instance")
    func spread() {
        for group in [group([(1, 1), (2, 2), (3, 3), (4, 4)]), group([(1, 9), (2, 9), (3, 9), (4, 9)])] {
            var counts: [UInt64: Int] = [:]
            for key in 0..<4_000 {
                counts[group.pick(key: RendezvousHash.hash("room-\(key)"), turn: 0), default: 0] += 1
            }
            for id in 1...4 as ClosedRange<UInt64> { #expect((850...1150).contains(counts[id] ?? 0)) }
        }
    }
}
