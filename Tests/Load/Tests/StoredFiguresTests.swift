import Testing

@testable import parlor_bench

@Suite("Ratios compared with those of an earlier run")
struct StoredFiguresTests {
    private func row(_ ratio: Double, time: Double = 2, rate: Double = 100) -> Row {
        Row(
            name: "a \"row\"",
            figures: [
                Figure("to the floor", ratio, .ratio), Figure("p50 to the floor's", time, .timeRatio),
                Figure("answers", rate, .perSecond),
            ])
    }

    private func stored(_ row: Row) throws -> StoredFigures {
        try StoredFigures(parsing: Array(StoredFigures.text(of: [row]).utf8))
    }

    @Test("stored figures are read back, and equal or better ones cause no warning")
    func same() throws {
        let stored = try stored(row(0.5))
        #expect(stored.warnings(about: [row(0.5)]) == [])
        #expect(stored.warnings(about: [row(5, time: 0.1)]) == [])
    }

    @Test("a ratio may fall by a fifth, and causes a warning when it falls by more")
    func rates() throws {
        let stored = try stored(row(0.5))
        #expect(stored.warnings(about: [row(0.401)]) == [])
        #expect(
            stored.warnings(about: [row(0.3)]) == [
                "warning: a \"row\": to the floor is worse by 40 %: 0.30, and 0.50 before"
            ])
    }

    @Test("a higher time is worse")
    func times() throws {
        let stored = try stored(row(0.5, time: 2))
        #expect(stored.warnings(about: [row(0.5, time: 2.4)]) == [])
        #expect(
            stored.warnings(about: [row(0.5, time: 4)]) == [
                "warning: a \"row\": p50 to the floor's is worse by 50 %: 4.00, and 2.00 before"
            ])
    }

    @Test("times and rates are not stored, nor rows without a ratio")
    func ratiosOnly() throws {
        let stored = try stored(row(0.5, rate: 100))
        #expect(stored.warnings(about: [row(0.5, rate: 1)]) == [])
        #expect(StoredFigures.text(of: [Row(name: "x", figures: [Figure("answers", 7, .perSecond)])]) == "{\n\n}\n")
    }

    @Test("figures that were not stored, or not measured, are skipped")
    func others() throws {
        let stored = try stored(row(0.5))
        #expect(stored.warnings(about: []) == [])
        #expect(stored.warnings(about: [Row(name: "new", figures: [Figure("to the floor", 0.1, .ratio)])]) == [])
        #expect(stored.warnings(about: [Row(name: "a \"row\"", figures: [Figure("new", 0.1, .ratio)])]) == [])
    }

    @Test("a small ratio is stored with as many digits as a large one")
    func precision() throws {
        let stored = try stored(row(0.000_4))
        #expect(stored.warnings(about: [row(0.000_39)]) == [])
        #expect(stored.warnings(about: [row(0.000_2)]).count == 1)
    }

    @Test("a file without a JSON object is refused", arguments: ["", "[]", "{"])
    func broken(text: String) {
        #expect(throws: (any Error).self) { try StoredFigures(parsing: Array(text.utf8)) }
    }
}
