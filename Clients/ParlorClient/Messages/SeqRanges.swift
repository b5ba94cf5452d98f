/// Ranges of a room's counter, or of its times where it has none (see `Message.sortKey`), in
/// ascending order; adjacent ones are merged.
struct SeqRanges: Equatable, Sendable {
    private(set) var ranges: [ClosedRange<Int>] = []

    var isEmpty: Bool { ranges.isEmpty }
    var lowest: Int? { ranges.first?.lowerBound }

    /// The lowest missing range between two others. Times have no gaps.
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
        // Overlapping and adjacent ranges are merged with it.
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
        // Searched from the end, as new numbers come last.
        var index = ranges.count
        while index > 0, ranges[index - 1].upperBound >= seq { index -= 1 }
        return index
    }
}
