import ClientTestSupport
import Foundation
import ParlorClientTesting
import Testing

@testable import ParlorClient

@Suite("MessageItems")
struct MessageItemsTests {
    @Test("it equals a sorted array over thousands of random changes", arguments: Seeds.first(5))
    func asAnArray(seed: Int) {
        var random = SeededGenerator(seed: UInt64(seed))
        var items = MessageItems()
        var model: [Int] = []
        for _ in 0..<3_000 {
            let seq = Int.random(in: 1...1_500, using: &random)
            if let slot = items.slot(of: seq) {
                #expect(model.contains(seq))
                items.remove(at: slot)
                model.removeAll { $0 == seq }
            } else {
                items.insert(MessageItem(sample(seq), ownID: "me"), at: seq)
                model.insert(seq, at: model.firstIndex { $0 > seq } ?? model.endIndex)
            }
        }
        #expect(items.map(\.seq) == model)
        #expect(items.indices.map { items[$0].seq } == model)
        for seq in 1...1_500 { #expect(items.index(atOrAfter: seq) == model.firstIndex { $0 >= seq } ?? model.count) }
    }

    @Test("equality compares what is shown, not how it is stored")
    func equality() {
        var upwards = MessageItems()
        var downwards = MessageItems()
        for seq in 1...300 { upwards.insert(MessageItem(sample(seq), ownID: "me"), at: seq) }
        for seq in (1...300).reversed() { downwards.insert(MessageItem(sample(seq), ownID: "me"), at: seq) }
        #expect(upwards == downwards)
        if let slot = downwards.slot(of: 150) { downwards.remove(at: slot) }
        #expect(upwards != downwards)
        var other = upwards
        other.pending = [MessageItem(PendingMessage(tempID: "t", text: "t", createdAt: start), ownID: "me")]
        #expect(upwards != other)
    }

    @Test("adjacent ranges are merged, and the first gap is known")
    func ranges() {
        var ranges = SeqRanges()
        for range in [5...6, 1...2, 9...9, 8...8] { ranges.insert(range) }
        #expect(ranges.ranges == [1...2, 5...6, 8...9])
        #expect(ranges.firstGap == 3...4)
        #expect([2, 3, 6, 7, 9, 10].filter(ranges.contains) == [2, 6, 9])
        ranges.insert(3...7)
        #expect(ranges.ranges == [1...9])
        #expect(ranges.firstGap == nil)
    }

    @Test("the number of remembered recent values is limited")
    func recent() {
        var recent = RecentValues<Int>(limit: 2)
        for value in 1...7 { recent.set(value, for: "\(value)") }
        #expect((1...7).map { recent["\($0)"] } == [nil, nil, nil, nil, nil, 6, 7])
    }
}
