/// The first 2 to 14 bytes of a frame (RFC 6455, section 5.2).
struct WebSocketFrameHeader {
    let isFinal: Bool
    let opcode: WebSocketOpcode
    let payloadLength: Int
    /// The mask; its first byte on the wire is the highest.
    let mask: UInt32?
    /// The length of the header itself.
    let byteCount: Int

    /// Parses a header; nil until enough bytes have arrived.
    ///
    /// - Throws: if the frame is invalid by itself.
    init?(parsing bytes: Span<UInt8>, role: WebSocketParser.Role) throws(WebSocketError) {
        guard bytes.count >= 2 else { return nil }
        let (first, second) = (bytes[0], bytes[1])
        guard first & 0x70 == 0 else { throw .breach("a reserved bit is set without an extension") }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .breach("a reserved opcode") }
        self.opcode = opcode
        isFinal = first & 0x80 != 0

        // Section 5.1: a client masks, a server does not.
        let isMasked = second & 0x80 != 0
        guard isMasked == (role == .server) else {
            throw .breach(isMasked ? "a frame from the server is masked" : "a frame from the client is not masked")
        }
        let shortLength = Int(second & 0x7F)
        if opcode.isControl {
            guard isFinal else { throw .breach("a control frame is fragmented") }
            guard shortLength <= 125 else { throw .breach("a control frame is longer than 125 bytes") }
        }

        let lengthBytes = shortLength == 127 ? 8 : shortLength == 126 ? 2 : 0
        byteCount = 2 + lengthBytes + (isMasked ? 4 : 0)
        guard bytes.count >= byteCount else { return nil }
        let length = lengthBytes == 0 ? UInt64(shortLength) : Self.number(bytes, 2..<2 + lengthBytes)
        let smallest: UInt64 = lengthBytes == 8 ? 0x1_0000 : lengthBytes == 2 ? 126 : 0
        guard length >= smallest, let length = Int(exactly: length) else {
            throw .breach("a length is not written in its shortest form, or has its highest bit set")
        }
        payloadLength = length
        mask = isMasked ? UInt32(truncatingIfNeeded: Self.number(bytes, byteCount - 4..<byteCount)) : nil
    }

    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var number: UInt64 = 0
        for at in range { number = number << 8 | UInt64(bytes[at]) }
        return number
    }
}

/// Bytes that have arrived and have not been used. Holds no memory while there are none.
struct WebSocketInput {
    private var bytes: [UInt8] = []
    private var position = 0

    var count: Int { bytes.count - position }

    /// Returns the next header if it is complete, and leaves it in the input.
    func header(for role: WebSocketParser.Role) throws(WebSocketError) -> WebSocketFrameHeader? {
        try WebSocketFrameHeader(parsing: bytes.span.extracting(position...), role: role)
    }

    mutating func append(_ new: UnsafeRawBufferPointer) {
        // Remove used bytes once they are half of the whole, so that the moves cost at most one step for each
        // byte.
        if position > 0, position >= bytes.count / 2 {
            bytes.removeFirst(position)
            position = 0
        }
        bytes.append(contentsOf: new)
    }

    /// Takes the next bytes, up to `limit` of them.
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
