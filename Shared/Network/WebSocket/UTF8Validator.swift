/// Validates UTF-8 that arrives in pieces, and fails at the first byte that cannot continue a valid text (RFC
/// 3629, section 4).
struct UTF8Validator {
    /// The number of bytes that the current character still needs.
    private var needed: UInt8 = 0
    /// The range of the next byte. Only the second byte of a character has a range of its own, which excludes
    /// overlong forms, surrogates and values beyond U+10FFFF.
    private var range: (lowest: UInt8, highest: UInt8) = (0x80, 0xBF)

    /// True if the text may end here.
    var isComplete: Bool { needed == 0 }

    /// - Returns: false if the text is invalid, whatever follows.
    mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard let start = bytes.baseAddress else { return true }
        let count = bytes.count
        // Work on copies, which the compiler keeps in registers.
        var (needed, lowest, highest) = (needed, range.lowest, range.highest)
        var at = 0
        while at < count {
            if needed == 0 {
                while at + 8 <= count, Self.isASCII(start.loadUnaligned(fromByteOffset: at, as: UInt64.self)) {
                    at += 8
                }
                if at == count { break }
            }
            let byte = start.load(fromByteOffset: at, as: UInt8.self)
            at += 1
            if needed > 0 {
                guard byte >= lowest, byte <= highest else { return false }
                needed -= 1
                (lowest, highest) = (0x80, 0xBF)
            } else {
                switch byte {
                case 0x00...0x7F: break
                case 0xC2...0xDF: needed = 1
                case 0xE0: (needed, lowest) = (2, 0xA0)
                case 0xED: (needed, highest) = (2, 0x9F)
                case 0xE1...0xEF: needed = 2
                case 0xF0: (needed, lowest) = (3, 0x90)
                case 0xF1...0xF3: needed = 3
                case 0xF4: (needed, highest) = (3, 0x8F)
                default: return false
                }
            }
        }
        (self.needed, range) = (needed, (lowest, highest))
        return true
    }

    private static func isASCII(_ word: UInt64) -> Bool { word & 0x8080_8080_8080_8080 == 0 }
}
