/// Checks UTF-8 that comes in pieces, and fails at the first byte that no valid text goes on with (RFC 3629, section 4).
struct UTF8Validator {
    /// How many bytes the character that was begun still needs, and what the next of them may be.
    private var needed = 0
    private var lowest: UInt8 = 0x80
    private var highest: UInt8 = 0xBF

    /// Whether the text may end here.
    var isComplete: Bool { needed == 0 }

    /// - Returns: false if the text is invalid, whatever follows.
    mutating func accept(_ bytes: UnsafeRawBufferPointer) -> Bool {
        var at = 0
        while at < bytes.count {
            if needed == 0 {
                while at + 8 <= bytes.count, Self.isASCII(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)) {
                    at += 8
                }
                guard at < bytes.count else { break }
                guard begin(bytes[at]) else { return false }
            } else {
                guard bytes[at] >= lowest, bytes[at] <= highest else { return false }
                needed -= 1
                (lowest, highest) = (0x80, 0xBF)
            }
            at += 1
        }
        return true
    }

    private static func isASCII(_ word: UInt64) -> Bool { word & 0x8080_8080_8080_8080 == 0 }

    /// The second byte's range leaves out overlong forms, surrogates and what is beyond U+10FFFF.
    private mutating func begin(_ byte: UInt8) -> Bool {
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
        return true
    }
}
