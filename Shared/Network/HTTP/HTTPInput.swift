/// Bytes that have arrived and have not been used. Used bytes stay readable until `releaseUsed`.
struct HTTPInput {
    private(set) var bytes: [UInt8] = []
    private var position = 0
    /// The position at which the search for the end of a line continues, so a line that arrives
    /// byte by byte is read once.
    private var searched = 0

    var count: Int { bytes.count - position }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ new: UnsafeRawBufferPointer) { bytes.append(contentsOf: new) }

    /// Takes the next bytes, up to `limit` of them.
    mutating func take(atMost limit: Int) -> ArraySlice<UInt8> {
        let taken = bytes[position..<position + min(limit, count)]
        advance(to: taken.endIndex)
        return taken
    }

    /// Returns the range of the next line, without its CRLF, or nil until it is complete.
    ///
    /// - Throws: 400 for a line that ends in LF without CR, which RFC 9112, section 2.2, does not oblige a
    ///   server to accept; `tooLong` as soon as the line with its CRLF is longer than `limit`.
    mutating func line(limit: Int, tooLong: HTTPParseError) throws(HTTPParseError) -> Range<Int>? {
        let start = position
        guard let end = bytes.span.firstIndex(of: UInt8(ascii: "\n"), from: max(searched, start)) else {
            searched = bytes.count
            if count > limit { throw tooLong }
            return nil
        }
        if end + 1 - start > limit { throw tooLong }
        guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else {
            throw HTTPParseError(400, "a line ends in LF without CR")
        }
        advance(to: end + 1)
        return start..<end - 1
    }

    /// Releases used bytes. If no others are left, all memory is released. Otherwise the rest is moved only when
    /// more than half is used, so that the moves cost at most one step for each byte.
    mutating func releaseUsed() {
        if position == bytes.count {
            bytes = []
            (position, searched) = (0, 0)
        } else if position > bytes.count / 2 {
            bytes.removeFirst(position)
            searched -= position
            position = 0
        }
    }

    private mutating func advance(to end: Int) {
        position = end
        searched = end
    }
}
