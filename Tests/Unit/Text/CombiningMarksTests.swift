import ParlorText
import Testing

@Suite("Combining marks in a row")
struct CombiningMarksTests {
    private func marks(_ count: Int) -> String {
        String(String.UnicodeScalarView((0..<count).map { $0.isMultiple(of: 2) ? "\u{301}" : "\u{316}" }))
    }

    @Test("a run of the limit is accepted, a longer one is not, wherever it stands")
    func limit() {
        let most = marks(CombiningMarks.maxInARow)
        #expect(CombiningMarks.areFew(in: "a\(most)b\(most)"))
        #expect(!CombiningMarks.areFew(in: "a\(most)\u{327}"))
        #expect(!CombiningMarks.areFew(in: "\(most)b\(marks(CombiningMarks.maxInARow + 1))"))
        #expect(CombiningMarks.areFew(in: String(repeating: "e\u{301}", count: 1000)))
    }

    @Test("every scalar that normal forms sort counts, and no other does")
    func classes() {
        var full = CombiningMarks()
        for _ in 0..<CombiningMarks.maxInARow { _ = full.accept(0x301) }
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var marks = full
            guard marks.accept(value) == (scalar.properties.canonicalCombiningClass == .notReordered) else {
                Issue.record("U+\(String(value, radix: 16))")
                return
            }
        }
    }
}
