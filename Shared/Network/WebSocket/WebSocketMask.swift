/// Masking, which is its own reverse (RFC 6455, section 5.3).
enum WebSocketMask {
    /// - Parameters:
    ///   - key: its first byte on the wire is the highest.
    ///   - offset: how much of the payload comes before these bytes.
    static func apply(_ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer) {
        let shift = UInt32(truncatingIfNeeded: offset & 3) * 8
        let turned = shift == 0 ? key : key << shift | key >> (32 - shift)
        let word = (UInt64(turned) << 32 | UInt64(turned)).bigEndian
        let wholeWords = bytes.count & ~7
        var at = 0
        while at < wholeWords {
            let masked = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
            bytes.storeBytes(of: masked ^ word, toByteOffset: at, as: UInt64.self)
            at += 8
        }
        while at < bytes.count {
            bytes[at] ^= UInt8(truncatingIfNeeded: turned >> UInt32(24 - (at & 3) * 8))
            at += 1
        }
    }
}
