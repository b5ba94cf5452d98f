/// A turn's output to more than one channel, copied once: a broadcast.
///
/// The second channel in a row with the same array makes it one. From then on a channel's queue
/// holds the range of the bytes. A turn's broadcasts lie side by side, and the kernel takes them
/// from here in one piece: a delivery counts no reference and copies nothing. Nobody refers to it
/// after the turn (`OutputQueue.settle`).
struct TurnOutput {
    /// About what a socket takes at once. What does not fit is written by reference.
    private static let capacity = 256 * 1024
    /// Above this size a copy is no cheaper than a reference.
    private static let largePiece = 16 * 1024

    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: TurnOutput.capacity, alignment: 64)
    private var filled = 0
    /// Held, so that no other array comes to lie where it does.
    private var latest: [UInt8] = []
    /// nil until a second channel gets it.
    private var latestRange: Range<Int>?

    func deallocate() { buffer.deallocate() }

    /// The range of these bytes in `buffer`; nil if they are not a broadcast.
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

    /// No queue refers to it any more.
    mutating func reset() {
        filled = 0
        latest = []
        latestRange = nil
    }
}
