/// A room's messages as a list shows them: the stored ones by `seq`, then the pending ones in the order typed.
///
/// A view that shows the list retains the last value. With a single array, every change would then copy all
/// messages. With short chunks, a change copies one chunk and the list of chunks.
public struct MessageItems: RandomAccessCollection, Equatable, Sendable {
    /// The size at which a chunk is split. With twice this size, copying a chunk took twice as long. With half of
    /// this size, copying the list of chunks took twice as long.
    private static let chunkLimit = 64

    private var chunks: [[MessageItem]] = []
    /// The index of each chunk's first item.
    private var starts: [Int] = []
    private(set) var storedCount = 0
    var pending: [MessageItem] = []

    package init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { storedCount + pending.count }

    public subscript(index: Int) -> MessageItem {
        guard index < storedCount else { return pending[index - storedCount] }
        let slot = slot(at: index)
        return chunks[slot.chunk][slot.offset]
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
        // Observation compares at each change. Chunks that share their storage are equal without a comparison of
        // their items.
        lhs.storedCount == rhs.storedCount && lhs.pending == rhs.pending
            && (lhs.starts == rhs.starts ? lhs.chunks == rhs.chunks : lhs.elementsEqual(rhs))
    }

    /// The position of a stored message, or the one at which it would be inserted.
    struct Slot {
        fileprivate var chunk: Int
        fileprivate var offset: Int
    }

    var stored: Slice<MessageItems> { self[0..<storedCount] }

    /// Returns the index of the first stored message with this key or a higher one.
    func index(atOrAfter key: Int) -> Int {
        let slot = slot(atOrAfter: key)
        return slot.chunk < chunks.count ? starts[slot.chunk] + slot.offset : storedCount
    }

    func slot(of key: Int) -> Slot? {
        let slot = slot(atOrAfter: key)
        guard slot.chunk < chunks.count, chunks[slot.chunk][slot.offset].sortKey == key else { return nil }
        return slot
    }

    /// - Precondition: `index < storedCount`.
    func slot(at index: Int) -> Slot {
        var low = 0
        var high = chunks.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= index { low = middle } else { high = middle - 1 }
        }
        return Slot(chunk: low, offset: index - starts[low])
    }

    subscript(slot: Slot) -> MessageItem {
        get { chunks[slot.chunk][slot.offset] }
        set { chunks[slot.chunk][slot.offset] = newValue }
    }

    /// - Precondition: no stored message has this item's key.
    mutating func insert(_ item: MessageItem, at key: Int) {
        var slot = slot(atOrAfter: key)
        if slot.chunk == chunks.count {
            // An item after all the others goes into the last chunk, or into a new one if that is full.
            if let last = chunks.last, last.count < Self.chunkLimit {
                slot = Slot(chunk: chunks.count - 1, offset: last.count)
            } else {
                chunks.append([])
                chunks[slot.chunk].reserveCapacity(Self.chunkLimit)
                starts.append(storedCount)
            }
        } else if chunks[slot.chunk].count == Self.chunkLimit {
            slot = halve(slot)
        }
        chunks[slot.chunk].insert(item, at: slot.offset)
        storedCount += 1
        for later in starts.indices[(slot.chunk + 1)...] { starts[later] += 1 }
    }

    mutating func remove(at slot: Slot) {
        chunks[slot.chunk].remove(at: slot.offset)
        storedCount -= 1
        for later in starts.indices[(slot.chunk + 1)...] { starts[later] -= 1 }
        if chunks[slot.chunk].isEmpty {
            chunks.remove(at: slot.chunk)
            starts.remove(at: slot.chunk)
        }
    }

    mutating func removeAllStored() {
        chunks = []
        starts = []
        storedCount = 0
    }

    private mutating func halve(_ slot: Slot) -> Slot {
        let half = Self.chunkLimit / 2
        chunks.insert(Array(chunks[slot.chunk][half...]), at: slot.chunk + 1)
        chunks[slot.chunk].removeSubrange(half...)
        starts.insert(starts[slot.chunk] + half, at: slot.chunk + 1)
        return slot.offset < half ? slot : Slot(chunk: slot.chunk + 1, offset: slot.offset - half)
    }

    /// Returns the slot of the first stored message with this key or a higher one. It looks at the end first, where
    /// nearly all new messages belong, and then searches.
    private func slot(atOrAfter key: Int) -> Slot {
        guard let last = chunks.last?.last?.sortKey, key <= last else { return Slot(chunk: chunks.count, offset: 0) }
        let chunk = Self.firstIndex(chunks.count) { (chunks[$0][chunks[$0].count - 1].sortKey ?? .max) >= key }
        let offset = Self.firstIndex(chunks[chunk].count) { (chunks[chunk][$0].sortKey ?? .max) >= key }
        return Slot(chunk: chunk, offset: offset)
    }

    /// Returns the first index for which the predicate holds, or `count` if there is none. The predicate must hold for
    /// all indices after the first.
    private static func firstIndex(_ count: Int, where holds: (Int) -> Bool) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if holds(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

extension MessageItems {
    /// Returns how many items at the start are surely the same in both: those in equal chunks.
    func sharedStart(with other: MessageItems) -> Int {
        zip(chunks, other.chunks).prefix { $0 == $1 }.reduce(0) { $0 + $1.0.count }
    }

    /// Returns how many items at the end are surely the same in both.
    func sharedEnd(with other: MessageItems) -> Int {
        guard pending == other.pending else { return 0 }
        return zip(chunks.reversed(), other.chunks.reversed()).prefix { $0 == $1 }
            .reduce(pending.count) { $0 + $1.0.count }
    }
}
