/// A turn's broadcasts: output to more than one channel, copied once.
///
/// An array becomes a broadcast when a second channel in a row writes it. From then on, the channels' queues hold
/// only its range. A turn's broadcasts are contiguous, and the kernel takes them from here in one piece: a
/// delivery changes no reference count and copies nothing. No queue refers to them after the turn
/// (`OutputQueue.settle`).
struct TurnOutput {
    /// The size of the buffer, about as much as a socket takes at once. Larger output is written by
    /// reference.
    private static let capacity = 256 * 1024
    /// The size from which a copy is no cheaper than a reference.
    private static let largePiece = 16 * 1024

    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: TurnOutput.capacity, alignment: 64)
    private var filled = 0
    /// The latest array. It is kept alive, so that no other array can have its address.
    private var latest: [UInt8] = []
    /// The range of `latest` in the buffer; nil until a second channel gets it.
    private var latestRange: Range<Int>?

    func deallocate() { buffer.deallocate() }

    /// Returns the range of these bytes in `buffer`, or nil if they are not a broadcast.
    @inline(__always) mutating func range(of bytes: [UInt8]) -> Range<Int>? {
        guard Self.isSame(bytes, latest) else {
            latest = bytes
            latestRange = nil
            return nil
        }
        return latestRange ?? copyLatest()
    }

    private mutating func copyLatest() -> Range<Int>? {
        let range = filled..<filled + latest.count
        guard latest.count < Self.largePiece, range.upperBound <= buffer.count else { return nil }
        UnsafeMutableRawBufferPointer(rebasing: buffer[range]).copyBytes(from: latest)
        filled = range.upperBound
        latestRange = range
        return range
    }

    @inline(__always) private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.withUnsafeBufferPointer { a in
            b.withUnsafeBufferPointer { b in a.baseAddress == b.baseAddress && a.count == b.count }
        }
    }

    /// Empties the buffer, as no queue refers to it any more.
    mutating func reset() {
        filled = 0
        latest = []
        latestRange = nil
    }
}
