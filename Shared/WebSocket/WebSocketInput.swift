/// Bytes that have arrived and have not been used. Holds no memory while there are none.
struct WebSocketInput {
    private var bytes: [UInt8] = []
    private var position = 0

    var waiting: ArraySlice<UInt8> { bytes[position...] }
    var count: Int { bytes.count - position }

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
