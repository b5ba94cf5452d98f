import Testing

@testable import ParlorMessageBus

@Suite("subjects")
struct SubjectGrammarTests {
    @Test("tokens joined by dots are a subject", arguments: ["a", "rooms.renamed", "a.b.c.d", "x_1-y.0", "-"])
    func subjects(text: String) {
        #expect(SubjectGrammar.isSubject(text))
        #expect(SubjectGrammar.isPattern(text))
    }

    @Test(
        "a pattern may have `*` for a token, and `>` for the rest", arguments: ["*", ">", "a.*.b", "*.*", "a.>", "*.>"])
    func patterns(text: String) {
        #expect(!SubjectGrammar.isSubject(text))
        #expect(SubjectGrammar.isPattern(text))
    }

    @Test(
        "any other text is neither",
        arguments: [
            "", ".", "..", "a.", ".a", "a..b", "A", "a b", "a*", "*a", "a.>b", ">.a", ">>", "**", "é", "a/b", "a\0",
        ])
    func neither(text: String) {
        #expect(!SubjectGrammar.isSubject(text))
        #expect(!SubjectGrammar.isPattern(text))
    }

    @Test("a subject has at most 255 bytes")
    func length() {
        #expect(SubjectGrammar.isSubject(String(repeating: "a", count: 255)))
        #expect(!SubjectGrammar.isSubject(String(repeating: "a", count: 256)))
        #expect(!SubjectGrammar.isPattern(String(repeating: "a.", count: 128)))
    }

    @Test(
        "a pattern covers another if it matches all that the other matches",
        arguments: [
            ("a.b", "a.b", true), ("a.b", "a.c", false), ("a.b", "a", false), ("a", "a.b", false), ("a.*", "a.b", true),
            ("a.*", "a.*", true), ("a.*", "a.>", false), ("a.*", "a.b.c", false), ("a.b", "a.*", false),
            ("a.>", "a.b", true),
            ("a.>", "a.b.c", true), ("a.>", "a.*.c", true), ("a.>", "a.>", true), ("a.>", "a", false),
            ("a.>", ">", false),
            ("a.>", "*.b", false), (">", ">", true), (">", "a.b.c", true), ("*", "a", true), ("*", ">", false),
            ("*", "a.b", false),
            ("a.*.c", "a.b.c", true), ("a.*.c", "a.>", false), ("a.*.c", "a.b.d", false), ("ab.>", "a.b", false),
            ("a.>", "ab.c", false), ("gateways.*.open", "gateways.*.*", false),
        ])
    func covering(pattern: String, other: String, isCovered: Bool) {
        #expect(SubjectGrammar.covers(pattern, other) == isCovered)
        #expect(SubjectPatterns([pattern]).covers(other) == isCovered)
        #expect(SubjectPatterns(["x.>", "y.z", pattern, "x.*.z"]).covers(other) == isCovered)
    }
}
