import Testing

@testable import MessageBus

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
        "anything else is neither",
        arguments: [
            "", ".", "..", "a.", ".a", "a..b", "A", "a b", "a*", "*a", "a.>b", ">.a", ">>", "**", "é", "a/b", "a\0",
        ])
    func neither(text: String) {
        #expect(!SubjectGrammar.isSubject(text))
        #expect(!SubjectGrammar.isPattern(text))
    }

    @Test("255 bytes are the most")
    func length() {
        #expect(SubjectGrammar.isSubject(String(repeating: "a", count: 255)))
        #expect(!SubjectGrammar.isSubject(String(repeating: "a", count: 256)))
        #expect(!SubjectGrammar.isPattern(String(repeating: "a.", count: 128)))
    }
}
