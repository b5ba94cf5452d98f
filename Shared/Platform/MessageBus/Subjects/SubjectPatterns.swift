/// A set of patterns. Almost every lookup takes constant time, however many patterns there are.
package struct SubjectPatterns: Sendable {
    /// True if the set contains `>`.
    private var coversAll = false
    /// The patterns without wildcards.
    private var subjects: Set<String> = []
    /// The first tokens of patterns such as `rooms.>`.
    private var families: Set<String> = []
    /// The patterns with a wildcard elsewhere, which are compared one by one. Parlor's own peers have at most
    /// one.
    private var others: [String] = []

    /// - Parameter patterns: valid patterns (`SubjectGrammar.isPattern`).
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

    /// Returns true if one of the set's patterns matches everything that the given pattern matches.
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
