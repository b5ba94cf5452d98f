/// The grammar of subjects: tokens of `a-z`, `0-9`, `_` and `-`, joined by dots, at most 255 bytes. In a pattern a
/// token may be `*`, and the last one `>`.
package enum SubjectGrammar {
    package static let maxLength = 255

    package static func isSubject(_ text: String) -> Bool { check(text.utf8, wildcards: false) }
    package static func isPattern(_ text: String) -> Bool { check(text.utf8, wildcards: true) }

    /// A queue group is named like one token.
    package static func isQueue(_ text: String) -> Bool {
        (1...maxLength).contains(text.utf8.count) && text.utf8.allSatisfy(isTokenByte)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    private static func check(_ text: String.UTF8View, wildcards: Bool) -> Bool {
        guard (1...maxLength).contains(text.count) else { return false }
        var tokenLength = 0
        var isWildcard = false
        var isTail = false
        for byte in text {
            if isTail { return false }
            if byte == UInt8(ascii: ".") {
                guard tokenLength > 0 else { return false }
                tokenLength = 0
                isWildcard = false
                continue
            }
            // A wildcard is a whole token.
            guard !isWildcard else { return false }
            if byte == UInt8(ascii: "*") || byte == UInt8(ascii: ">") {
                guard wildcards, tokenLength == 0 else { return false }
                isWildcard = true
                isTail = byte == UInt8(ascii: ">")
            } else if !isTokenByte(byte) {
                return false
            }
            tokenLength += 1
        }
        return tokenLength > 0
    }
}
