import Testing

@testable import parlor_bench

@Suite("Medians")
struct MedianTests {
    @Test("a median is the middle value in any order, the mean of two for an even count, and nil for none")
    func median() {
        #expect([3.0].median == 3)
        #expect([9.0, 1, 2].median == 2)
        #expect([4.0, 1, 3, 2].median == 2.5)
        #expect([Double]().median == nil)
    }

    @Test("each figure of a row has its own median over the rounds, and every fault is kept")
    func rows() {
        func round(_ rate: Double, _ ratio: Double, _ faults: [String]) -> Row {
            Row(
                name: "row", figures: [Figure("rate", rate, .perSecond), Figure("ratio", ratio, .ratio)], faults: faults
            )
        }
        let row = Row(medianOf: [round(1, 30, []), round(3, 10, ["1 lost"]), round(2, 20, ["2 lost"])])
        #expect(row.figures.map(\.value) == [2, 20])
        #expect(row.figures.map(\.unit) == [.perSecond, .ratio])
        #expect(row.faults == ["1 lost", "2 lost"])
    }

    @Test("a figure's speed is its ratio, inverted for times; times, rates and tail ratios have none")
    func speed() {
        #expect(Figure("", 4, .ratio).speed == 4)
        #expect(Figure("", 4, .timeRatio).speed == 0.25)
        #expect(Figure("", 0, .timeRatio).speed == nil)
        #expect(Figure("", 4, .tailRatio).speed == nil)
        #expect(Figure("", 4, .milliseconds).speed == nil && Figure("", 4, .perSecond).speed == nil)
    }
}
