/// The bytes that a connection has still to write: the arrays as they were given, shared with whoever else holds them.
struct OutputQueue: Sendable {
    private(set) var byteCount = 0
    /// The piece that is next. One piece a turn is the common case, and takes no list.
    private var first: [UInt8] = []
    /// How much of `first` has been written.
    private var offset = 0
    private var rest: [[UInt8]] = []
    private var nextInRest = 0

    /// A piece of this size goes to the kernel from where it lies; smaller neighbours are joined, for a copy of them costs
    /// less than a system call each.
    private static let largePiece = 16 * 1024

    var isEmpty: Bool { byteCount == 0 }

    mutating func append(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        if byteCount == 0 {
            first = bytes
        } else {
            // One allocation for a usual turn, where growing from one would take several.
            if rest.isEmpty { rest.reserveCapacity(8) }
            rest.append(bytes)
        }
        byteCount += bytes.count
    }

    /// Shows `body` what to write next: a whole piece, or several that were joined in `buffer`.
    func withNext<T>(joinedIn buffer: UnsafeMutableRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> T) -> T {
        if nextInRest == rest.count || first.count - offset >= Self.largePiece {
            return first.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[offset...])) }
        }
        var filled = first.withUnsafeBytes { Self.copy($0[offset...], to: buffer, at: 0) }
        var index = nextInRest
        while index < rest.count, filled < buffer.count {
            filled += rest[index].withUnsafeBytes { Self.copy($0[...], to: buffer, at: filled) }
            index += 1
        }
        return body(UnsafeRawBufferPointer(rebasing: buffer[..<filled]))
    }

    /// As much as fits.
    @inline(__always) private static func copy(
        _ bytes: Slice<UnsafeRawBufferPointer>, to buffer: UnsafeMutableRawBufferPointer, at start: Int
    ) -> Int {
        let count = min(bytes.count, buffer.count - start)
        UnsafeMutableRawBufferPointer(rebasing: buffer[start..<start + count])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes.prefix(count)))
        return count
    }

    /// Lets go of what was written.
    mutating func consume(_ count: Int) {
        byteCount -= count
        guard byteCount > 0 else {
            self = OutputQueue()
            return
        }
        offset += count
        while offset >= first.count {
            offset -= first.count
            first = rest[nextInRest]
            rest[nextInRest] = []
            nextInRest += 1
        }
        // The slots that were taken go when they are the larger part.
        if nextInRest >= 64, nextInRest * 2 >= rest.count {
            rest.removeFirst(nextInRest)
            nextInRest = 0
        }
    }
}
