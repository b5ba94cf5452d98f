/// The grammar of subjects: tokens of `a-z`, `0-9`, `_` and `-`, joined by dots, at most 255 bytes. In a pattern a
/// token may be `*`, and the last one `>`.
package enum SubjectGrammar {
    package static let maxLength = 255

    package static func isSubject(_ text: String) -> Bool { check(text.utf8, wildcards: false) }
    package static func isPattern(_ text: String) -> Bool { check(text.utf8, wildcards: true) }

    /// Returns true if the text is a queue's name, which has the form of one token.
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

    /// Returns true if this pattern matches each subject that the other matches. Both must be patterns; a subject is
    /// one, too.
    package static func covers(_ pattern: String, _ other: String) -> Bool {
        covers(pattern.utf8[...], other.utf8[...])
    }

    private static func covers(_ pattern: Substring.UTF8View, _ other: Substring.UTF8View) -> Bool {
        var (pattern, other) = (pattern, other)
        while let wanted = takeToken(&pattern) {
            guard let given = takeToken(&other) else { return false }
            if isToken(wanted, ">") { return true }
            if isToken(given, ">") { return false }
            guard isToken(wanted, "*") || wanted.elementsEqual(given) else { return false }
        }
        return other.isEmpty
    }

    private static func takeToken(_ rest: inout Substring.UTF8View) -> Substring.UTF8View? {
        guard !rest.isEmpty else { return nil }
        let token = rest.prefix { $0 != UInt8(ascii: ".") }
        rest = rest[token.endIndex...].dropFirst()
        return token
    }

    private static func isToken(_ token: Substring.UTF8View, _ wildcard: Unicode.Scalar) -> Bool {
        token.count == 1 && token.first == UInt8(ascii: wildcard)
    }
}
