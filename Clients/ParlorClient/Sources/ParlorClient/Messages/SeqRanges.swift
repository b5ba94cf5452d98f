/// Ranges of a room's sort keys, in ascending order. Adjacent ranges are merged.
///
/// A sort key is a message's `seq`, or its time on a server without `seq` (`Message.sortKey`).
struct SeqRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<Int>] = []

    var isEmpty: Bool { ranges.isEmpty }
    var lowest: Int? { ranges.first?.lowerBound }

    /// The lowest range of `seq` that is missing between two others; nil if there is none. Ranges of times are ignored,
    /// because nothing need be missing between them.
    var firstGap: ClosedRange<Int>? {
        let counted = ranges.drop { $0.upperBound <= 0 }.prefix(2)
        guard let first = counted.first, let second = counted.dropFirst().first else { return nil }
        return (first.upperBound + 1)...(second.lowerBound - 1)
    }

    func contains(_ seq: Int) -> Bool {
        let index = firstIndex(endingAtOrAfter: seq)
        return index < ranges.count && ranges[index].lowerBound <= seq
    }

    mutating func insert(_ seq: Int) { insert(seq...seq) }

    mutating func insert(_ range: ClosedRange<Int>) {
        // All overlapping and adjacent ranges become one.
        let first = firstIndex(endingAtOrAfter: range.lowerBound - 1)
        var joined = range
        var end = first
        while end < ranges.count, ranges[end].lowerBound <= range.upperBound + 1 {
            joined = min(joined.lowerBound, ranges[end].lowerBound)...max(joined.upperBound, ranges[end].upperBound)
            end += 1
        }
        ranges.replaceSubrange(first..<end, with: CollectionOfOne(joined))
    }

    mutating func removeAll() { ranges.removeAll() }

    private func firstIndex(endingAtOrAfter seq: Int) -> Int {
        // The search begins at the end, where new numbers come.
        var index = ranges.count
        while index > 0, ranges[index - 1].upperBound >= seq { index -= 1 }
        return index
    }
}
