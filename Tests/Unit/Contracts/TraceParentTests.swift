import ParlorContracts
import Testing

@Suite("the header traceparent")
struct TraceParentTests {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

    @Test(
        "a well-formed header is kept as it is, also one of a later version with more parts",
        arguments: [
            "00-\(trace)-00f067aa0ba902b7-01", "01-\(trace)-00f067aa0ba902b7-01-more",
            "cc-\(trace)-00f067aa0ba902b7-00",
        ])
    func good(text: String) throws {
        let parent = try #require(TraceParent(text))
        #expect(parent.text == text)
        #expect(parent.traceID == Self.trace)
    }

    @Test(
        "a malformed header is ignored",
        arguments: [
            "", "00", "00-\(trace)-00f067aa0ba902b7", "00-\(trace)-00f067aa0ba902b7-01-more",
            "ff-\(trace)-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01", "00-\(trace)-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", "0x-\(trace)-00f067aa0ba902b7-01",
            "00-\(trace.dropLast())-00f067aa0ba902b7-01", "01-\(trace)-00f067aa0ba902b7-01-\n",
            "01-\(trace)-00f067aa0ba902b7-01-" + String(repeating: "x", count: 200), "00-\(trace)-00f067aa0ba902b7-é",
        ])
    func bad(text: String) { #expect(TraceParent(text) == nil) }
}
