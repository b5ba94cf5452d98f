/// A set of patterns that answers whether one of them covers a subject by a look-up, however many there are.
package struct SubjectPatterns: Sendable {
    /// True if `>` is among them.
    private var coversAll = false
    /// Those without wildcards.
    private var subjects: Set<String> = []
    /// `rooms` of `rooms.>`.
    private var families: Set<String> = []
    /// Those with a wildcard elsewhere, which are compared one by one. Parlor's own peers have one at most.
    private var others: [String] = []

    /// - Parameter patterns: all have to be patterns (`SubjectGrammar.isPattern`).
    package init(_ patterns: [String]) {
        for pattern in patterns {
            let family = pattern.dropLast(2)
            if pattern == ">" {
                coversAll = true
            } else if SubjectGrammar.isSubject(pattern) {
                subjects.insert(pattern)
            } else if pattern.hasSuffix(".>"), !family.contains("."), SubjectGrammar.isSubject(String(family)) {
                families.insert(String(family))
            } else {
                others.append(pattern)
            }
        }
    }

    /// True if one of the patterns matches all that this one matches.
    ///
    /// - Parameter pattern: a pattern, or a subject.
    package func covers(_ pattern: String) -> Bool {
        if coversAll || subjects.contains(pattern) { return true }
        if let dot = pattern.utf8.firstIndex(of: UInt8(ascii: ".")), families.contains(String(pattern[..<dot])) {
            return true
        }
        return others.contains { SubjectGrammar.covers($0, pattern) }
    }
}
