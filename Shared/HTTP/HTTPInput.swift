/// Bytes that have arrived and have not been used. Holds no memory while there are none.
struct HTTPInput {
    private var bytes: [UInt8] = []
    private var position = 0
    /// Where the search for the end of a line goes on, so that a line which comes a byte at a time is read once.
    private var searched = 0

    var count: Int { bytes.count - position }
    var isEmpty: Bool { bytes.isEmpty }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        // What was used goes once it is half of the whole: each byte is moved at most once on the way.
        if position > 0, position >= bytes.count / 2 {
            bytes.removeFirst(position)
            searched = max(searched - position, 0)
            position = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The next bytes, at most `limit` of them.
    mutating func take(atMost limit: Int) -> ArraySlice<UInt8> {
        let taken = bytes[position..<position + min(limit, count)]
        advance(to: taken.endIndex)
        return taken
    }

    /// The next line without its CRLF; nil until it is complete.
    ///
    /// - Throws: 400 for a line that ends in LF alone (RFC 9112, section 2.2, lets us refuse what others read as a line
    ///   and some do not), and `tooLong` as soon as the line with its CRLF is longer than `limit`.
    mutating func line(limit: Int, tooLong: HTTPParseError) throws(HTTPParseError) -> ArraySlice<UInt8>? {
        let start = position
        guard let end = bytes[max(searched, start)...].firstIndex(of: UInt8(ascii: "\n")) else {
            searched = bytes.count
            if count > limit { throw tooLong }
            return nil
        }
        if end + 1 - start > limit { throw tooLong }
        guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else {
            throw HTTPParseError(400, "a line ends in LF without CR")
        }
        let line = bytes[start..<end - 1]
        advance(to: end + 1)
        return line
    }

    private mutating func advance(to end: Int) {
        position = end
        if position == bytes.count {
            bytes = []
            position = 0
        }
        searched = position
    }
}
