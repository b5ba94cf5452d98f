/// The bytes that a connection has still to write: arrays, shared with their other owners, followed by a
/// range of the turn's broadcasts (`TurnOutput`).
struct OutputQueue: Sendable {
    private(set) var byteCount = 0
    /// The next piece. Usually a turn has one piece, which needs no list.
    private var first: [UInt8] = []
    private var rest: [[UInt8]] = []
    /// The number of bytes of `first` that have been written.
    private var offset: Int32 = 0
    private var nextInRest: Int32 = 0
    /// The range of the turn's broadcasts, which comes last.
    private var sharedStart: Int32 = 0
    private var sharedEnd: Int32 = 0

    /// The size from which a piece is written from its own memory. Smaller neighbours are joined, as a copy
    /// costs less than a system call for each.
    private static let largePiece = 16 * 1024

    /// The overhead of a piece: an array's header, its slot in the list, and the allocator's
    /// rounding.
    static let pieceOverhead = 64

    var isEmpty: Bool { byteCount == 0 }

    /// The approximate memory that the queue holds. For pieces of two bytes, it is thirty times their size.
    var cost: Int { byteCount + (rest.count - Int(nextInRest)) * Self.pieceOverhead }

    private var sharedCount: Int { Int(sharedEnd - sharedStart) }

    mutating func append(_ bytes: [UInt8], after broadcasts: UnsafeMutableRawBufferPointer) {
        if sharedCount > 0 { settle(broadcasts) }
        appendOwn(bytes)
    }

    /// - Parameter range: the range in `broadcasts`.
    @inline(__always) mutating func append(_ range: Range<Int>, of broadcasts: UnsafeMutableRawBufferPointer) {
        let start = Int32(truncatingIfNeeded: range.lowerBound)
        if sharedEnd != start || sharedCount == 0 {
            if sharedCount > 0 { settle(broadcasts) }
            sharedStart = start
        }
        sharedEnd = Int32(truncatingIfNeeded: range.upperBound)
        byteCount += range.count
    }

    /// Copies its range of the turn's broadcasts, because the buffer is reused in the next turn.
    mutating func settle(_ broadcasts: UnsafeMutableRawBufferPointer) {
        guard sharedCount > 0 else { return }
        let copy = Array(broadcasts[Int(sharedStart)..<Int(sharedEnd)])
        byteCount -= copy.count
        sharedEnd = sharedStart
        appendOwn(copy)
    }

    private mutating func appendOwn(_ bytes: [UInt8]) {
        if byteCount == 0 {
            first = bytes
        } else {
            // One allocation for a usual turn; growing from one would take several.
            if rest.isEmpty { rest.reserveCapacity(8) }
            rest.append(bytes)
        }
        byteCount += bytes.count
    }

    /// Calls `body` with the next bytes to write: a whole piece, or several that were joined in `buffer`.
    func withNext<T>(
        of broadcasts: UnsafeMutableRawBufferPointer, joinedIn buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) -> T
    ) -> T {
        let shared = UnsafeRawBufferPointer(rebasing: broadcasts[Int(sharedStart)..<Int(sharedEnd)])
        if byteCount == shared.count { return body(shared) }
        let start = Int(offset)
        if byteCount == first.count - start || first.count - start >= Self.largePiece {
            return first.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        }
        var filled = first.withUnsafeBytes {
            Self.copy(UnsafeRawBufferPointer(rebasing: $0[start...]), to: buffer, at: 0)
        }
        var index = Int(nextInRest)
        while index < rest.count, filled < buffer.count {
            filled += rest[index].withUnsafeBytes { Self.copy($0, to: buffer, at: filled) }
            index += 1
        }
        filled += Self.copy(shared, to: buffer, at: filled)
        return body(UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    }

    /// Copies as much as fits, and returns the number of bytes.
    @inline(__always) private static func copy(
        _ bytes: UnsafeRawBufferPointer, to buffer: UnsafeMutableRawBufferPointer, at start: Int
    ) -> Int {
        let count = min(bytes.count, buffer.count - start)
        UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
        return count
    }

    /// Removes the bytes that were written.
    mutating func consume(_ count: Int) {
        let own = byteCount - sharedCount
        byteCount -= count
        guard byteCount > 0 else {
            self = OutputQueue()
            return
        }
        if count < own {
            consumeOwn(count)
        } else {
            sharedStart += Int32(truncatingIfNeeded: count - own)
            first = []
            rest = []
            offset = 0
            nextInRest = 0
        }
    }

    private mutating func consumeOwn(_ count: Int) {
        var skipped = Int(offset) + count
        while skipped >= first.count {
            skipped -= first.count
            first = rest[Int(nextInRest)]
            rest[Int(nextInRest)] = []
            nextInRest += 1
        }
        offset = Int32(truncatingIfNeeded: skipped)
        // Remove the used slots when they are the larger part.
        if nextInRest >= 64, Int(nextInRest) * 2 >= rest.count {
            rest.removeFirst(Int(nextInRest))
            nextInRest = 0
        }
    }
}
