import Foundation
import ParlorContracts
import ParlorServiceKit
import Testing

@Suite("A stepped clock")
struct SteppedClockTests {
    private func isOff(_ clock: SteppedClock, by hours: Int) -> Bool {
        let off = clock.now().milliseconds - SystemClock().now().milliseconds - hours * 3_600_000
        return abs(off) < 60_000
    }

    @Test("has the offset in its file now, and none if that is not a number")
    func steps() throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("clock-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: file) }  // what is left is a few bytes
        try Data("3600000\n".utf8).write(to: file)
        let clock = try #require(SteppedClock(file: file.path))
        #expect(isOff(clock, by: 1))
        try Data("-7200000".utf8).write(to: file)
        #expect(isOff(clock, by: -2))
        try Data("soon".utf8).write(to: file)
        #expect(isOff(clock, by: 0))
    }

    @Test("needs its file")
    func missing() { #expect(SteppedClock(file: "/nowhere/at/all") == nil) }
}
