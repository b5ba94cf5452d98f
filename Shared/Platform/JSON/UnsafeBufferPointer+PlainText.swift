extension UnsafeBufferPointer<UInt8> {
    /// Returns the index of the first quotation mark or backslash from `start` on, or `count` if there is none. On
    /// request, a control byte or a byte beyond ASCII ends the search as well. Searches eight bytes at a time.
    @inline(__always)
    package func endOfPlainText(
        from start: Int, stoppingAtControlBytes stopsAtControlBytes: Bool, orBeyondASCII stopsBeyondASCII: Bool = false
    ) -> Int {
        var at = start
        while at + 8 <= count, let base = baseAddress {
            let word = UInt64(littleEndian: UnsafeRawPointer(base + at).loadUnaligned(as: UInt64.self))
            var found = word.bytes(equalTo: UInt8(ascii: "\"")) | word.bytes(equalTo: UInt8(ascii: "\\"))
            if stopsAtControlBytes { found |= word.controlBytes }
            if stopsBeyondASCII { found |= word & 0x8080_8080_8080_8080 }
            if found != 0 { return at + found.trailingZeroBitCount / 8 }
            at += 8
        }
        while at < count {
            let byte = self[at]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
            if stopsAtControlBytes, byte < 0x20 { break }
            if stopsBeyondASCII, byte >= 0x80 { break }
            at += 1
        }
        return at
    }
}

extension UInt64 {
    /// Returns the top bit of each byte that equals `byte`. Only the lowest of these bits is reliable; those above
    /// it may be wrong (Mycroft 1987).
    @inline(__always) fileprivate func bytes(equalTo byte: UInt8) -> UInt64 {
        let difference = self ^ (UInt64(byte) &* 0x0101_0101_0101_0101)
        return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080
    }

    /// The top bit of each byte below 0x20. Only the lowest of these bits is reliable.
    @inline(__always) fileprivate var controlBytes: UInt64 {
        (self &- 0x2020_2020_2020_2020) & ~self & 0x8080_8080_8080_8080
    }
}
