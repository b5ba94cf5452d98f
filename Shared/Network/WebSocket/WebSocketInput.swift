/// Bytes that have arrived and have not been used. Holds no memory while there are none.
struct WebSocketInput {
    private var bytes: [UInt8] = []
    private var position = 0

    var count: Int { bytes.count - position }

    /// The header that comes next, if all of it is there; it is left in place.
    func header(for role: WebSocketParser.Role) throws(WebSocketError) -> WebSocketFrameHeader? {
        try WebSocketFrameHeader(parsing: bytes.span.extracting(position...), role: role)
    }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        // What was used goes once it is half of the whole: each byte is moved at most once on the way.
        if position > 0, position >= bytes.count / 2 {
            bytes.removeFirst(position)
            position = 0
        }
        bytes.append(contentsOf: new)
    }

    /// The next bytes, at most `limit` of them.
    mutating func take(atMost limit: Int) -> ArraySlice<UInt8> {
        let taken = bytes[position..<position + min(limit, count)]
        position = taken.endIndex
        if position == bytes.count {
            bytes = []
            position = 0
        }
        return taken
    }
}
