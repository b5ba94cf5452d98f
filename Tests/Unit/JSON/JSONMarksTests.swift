import ParlorJSON
import ParlorText
import Testing

@Suite("Combining marks in JSON")
struct JSONMarksTests {
    private static func marks(_ count: Int) -> String {
        String(String.UnicodeScalarView((0..<count).map { $0.isMultiple(of: 2) ? "\u{301}" : "\u{316}" }))
    }

    private static func escaped(_ count: Int) -> String {
        (0..<count).map { $0.isMultiple(of: 2) ? #"\u0301"# : #"\u0316"# }.joined()
    }

    /// U+1D165 and U+1D16D, which need surrogates.
    private static func musical(_ count: Int) -> String {
        (0..<count).map { $0.isMultiple(of: 2) ? #"\ud834\udd65"# : #"\ud834\udd6d"# }.joined()
    }

    private static let most = CombiningMarks.maxInARow

    private func isTaken(_ json: String, isBounded: Bool = true) -> Bool {
        (try? JSONValue(parsing: Array(json.utf8), isBounded: isBounded)) != nil  // nil: refused
    }

    @Test("a string with more marks in a row than the limit is refused, also if they are escaped or in a name")
    func refused() {
        for marks in [Self.marks, Self.escaped, Self.musical] {
            #expect(isTaken("\"a\(marks(Self.most))\""))
            #expect(!isTaken("\"a\(marks(Self.most + 1))\""))
            #expect(!isTaken("[{\"\(marks(Self.most + 1))\":1}]"))
        }
        #expect(!isTaken("\"\(Self.marks(Self.most))\(Self.escaped(1))\""))
    }

    @Test("anything but a mark begins a new run: a letter, an escape, another string")
    func runs() {
        let marks = Self.marks(Self.most)
        for between in ["a", "é", "漢", "🎉", #"\n"#, #"\u0061"#, #"\ud83c\udf89"#, #"",""#] {
            #expect(isTaken("[\"\(marks)\(between)\(marks)\"]"), "\(between)")
        }
    }

    @Test("values stored before there was a limit can be read")
    func unbounded() {
        #expect(isTaken("\"\(Self.marks(10_000))\"", isBounded: false))
    }
}
