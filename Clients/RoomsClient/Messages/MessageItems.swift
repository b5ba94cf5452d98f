/// A room's messages as a list shows them: those that the server has by `seq`, then the pending ones in the order typed.
///
/// A list keeps what it has drawn while the store goes on, so every change would copy an array of all messages. These are kept
/// in short arrays instead: a change copies one of them, and the list of them.
public struct MessageItems: RandomAccessCollection, Equatable, Sendable {
    /// Halved when it is full. Twice as long made copying one twice as dear, half as long the list of them.
    private static let chunkLimit = 64

    private var chunks: [[MessageItem]] = []
    /// The index of each chunk's first item.
    private var starts: [Int] = []
    private(set) var storedCount = 0
    var pending: [MessageItem] = []

    public init() {}

    public var startIndex: Int { 0 }
    public var endIndex: Int { storedCount + pending.count }

    public subscript(index: Int) -> MessageItem {
        guard index < storedCount else { return pending[index - storedCount] }
        let place = place(at: index)
        return chunks[place.chunk][place.offset]
    }

    public static func == (lhs: Self, rhs: Self) -> Bool {
        // What is observed is compared at each change: item by item only where the arrays are cut otherwise, for those that
        // share their storage are equal at once.
        lhs.storedCount == rhs.storedCount && lhs.pending == rhs.pending
            && (lhs.starts == rhs.starts ? lhs.chunks == rhs.chunks : lhs.elementsEqual(rhs))
    }

    /// Where a stored message stands, or would.
    struct Place {
        fileprivate var chunk: Int
        fileprivate var offset: Int
    }

    var stored: Slice<MessageItems> { self[0..<storedCount] }

    /// The index of the first stored message with this key or a higher one.
    func index(atOrAfter key: Int) -> Int {
        let place = place(atOrAfter: key)
        return place.chunk < chunks.count ? starts[place.chunk] + place.offset : storedCount
    }

    func place(of key: Int) -> Place? {
        let place = place(atOrAfter: key)
        guard place.chunk < chunks.count, chunks[place.chunk][place.offset].sortKey == key else { return nil }
        return place
    }

    /// - Precondition: `index < storedCount`.
    func place(at index: Int) -> Place {
        var low = 0
        var high = chunks.count - 1
        while low < high {
            let middle = (low + high + 1) / 2
            if starts[middle] <= index { low = middle } else { high = middle - 1 }
        }
        return Place(chunk: low, offset: index - starts[low])
    }

    subscript(place: Place) -> MessageItem {
        get { chunks[place.chunk][place.offset] }
        set { chunks[place.chunk][place.offset] = newValue }
    }

    /// - Precondition: no stored message has this item's key.
    mutating func insert(_ item: MessageItem, at key: Int) {
        var place = place(atOrAfter: key)
        if place.chunk == chunks.count {
            // After all the others: the last chunk goes on, or a new one begins.
            if let last = chunks.last, last.count < Self.chunkLimit {
                place = Place(chunk: chunks.count - 1, offset: last.count)
            } else {
                chunks.append([])
                chunks[place.chunk].reserveCapacity(Self.chunkLimit)
                starts.append(storedCount)
            }
        } else if chunks[place.chunk].count == Self.chunkLimit {
            place = halve(place)
        }
        chunks[place.chunk].insert(item, at: place.offset)
        storedCount += 1
        for later in starts.indices[(place.chunk + 1)...] { starts[later] += 1 }
    }

    mutating func remove(at place: Place) {
        chunks[place.chunk].remove(at: place.offset)
        storedCount -= 1
        for later in starts.indices[(place.chunk + 1)...] { starts[later] -= 1 }
        if chunks[place.chunk].isEmpty {
            chunks.remove(at: place.chunk)
            starts.remove(at: place.chunk)
        }
    }

    mutating func removeAllStored() {
        chunks = []
        starts = []
        storedCount = 0
    }

    private mutating func halve(_ place: Place) -> Place {
        let half = Self.chunkLimit / 2
        chunks.insert(Array(chunks[place.chunk][half...]), at: place.chunk + 1)
        chunks[place.chunk].removeSubrange(half...)
        starts.insert(starts[place.chunk] + half, at: place.chunk + 1)
        return place.offset < half ? place : Place(chunk: place.chunk + 1, offset: place.offset - half)
    }

    /// The end first, where nearly all go; then by halves.
    private func place(atOrAfter key: Int) -> Place {
        guard let last = chunks.last?.last?.sortKey, key <= last else { return Place(chunk: chunks.count, offset: 0) }
        let chunk = Self.firstIndex(chunks.count) { (chunks[$0][chunks[$0].count - 1].sortKey ?? .max) >= key }
        let offset = Self.firstIndex(chunks[chunk].count) { (chunks[chunk][$0].sortKey ?? .max) >= key }
        return Place(chunk: chunk, offset: offset)
    }

    /// The first index for which it holds, if it holds for all after it.
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
