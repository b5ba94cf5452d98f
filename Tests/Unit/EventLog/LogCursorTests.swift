import ParlorContracts
import ParlorJSON
import ParlorTestSupport
import Testing

@testable import ParlorEventLog

@Suite("a position in a log")
struct LogCursorTests {
    private static func entry(_ seq: Int, bytes: Int = 2) -> LogEntry {
        let emissions = JSONValue(trusted: [UInt8](repeating: UInt8(ascii: " "), count: bytes - 2) + Array("[]".utf8))
        return LogEntry(
            seq: seq, at: Timestamp(milliseconds: 0), roomID: "r", participants: [], emissionsJSON: emissions)
    }

    @Test(
        "entries in any order, repeated, or fetched when lost are delivered once each, in order",
        arguments: 0..<200 as Range<UInt64>)
    func property(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let start = Int.random(in: 0...50, using: &random)
        let end = start + Int.random(in: 1...60, using: &random)
        // All entries, repeated at random, some of them lost, in any order.
        let lost = Set((start + 1...end).filter { _ in Int.random(in: 0..<4, using: &random) == 0 })
        var coming = (max(1, start - 5)...end).filter { !lost.contains($0) }
        coming += coming.filter { _ in Bool.random(using: &random) }
        coming.shuffle(using: &random)

        var cursor = LogCursor()
        var given: [Int] = []
        let startsAfter = Int.random(in: 0...coming.count, using: &random)
        for (index, seq) in coming.enumerated() {
            if index == startsAfter { given += cursor.start(at: start).map(\.seq) }
            given += cursor.receive(Self.entry(seq)).map(\.seq)
            #expect(given == Array(start + 1..<start + 1 + given.count))
        }
        if startsAfter == coming.count { given += cursor.start(at: start).map(\.seq) }
        #expect(cursor.isBehind == (given.count < (coming.filter { $0 > start }.max() ?? start) - start))

        // The owner supplies missing entries, from the cursor's position on.
        for seq in (cursor.last ?? 0) + 1...max(end, (cursor.last ?? 0) + 1) where seq <= end {
            given += cursor.receive(Self.entry(seq)).map(\.seq)
        }
        #expect(given == Array(start + 1...end))
        #expect(!cursor.isBehind)
    }

    @Test("more early entries than the limit do not prevent the missing one from passing")
    func tooManyEarly() {
        var cursor = LogCursor()
        _ = cursor.start(at: 0)
        let last = LogCursor.maxEarly + 100
        for seq in 2...last { #expect(cursor.receive(Self.entry(seq)).isEmpty) }
        #expect(cursor.receive(Self.entry(1)).map(\.seq) == Array(1...LogCursor.maxEarly + 1))
        #expect(cursor.isBehind, "what was not kept is known to exist")
        let rest = (LogCursor.maxEarly + 2...last).flatMap { cursor.receive(Self.entry($0)) }.map(\.seq)
        #expect(rest == Array(LogCursor.maxEarly + 2...last))
        #expect(!cursor.isBehind)
    }

    @Test("early entries are kept up to a number of bytes")
    func tooManyBytes() {
        var cursor = LogCursor()
        _ = cursor.start(at: 0)
        let size = LogCursor.maxEarlyBytes / 4
        for seq in 2...9 { _ = cursor.receive(Self.entry(seq, bytes: size)) }
        #expect(cursor.receive(Self.entry(1)).count == 4, "itself, and three that fit with what surrounds them")
        #expect(cursor.isBehind)
        #expect((5...9).flatMap { cursor.receive(Self.entry($0, bytes: size)) }.map(\.seq) == Array(5...9))
        #expect(!cursor.isBehind)
    }

    @Test("early entries of one log do not become entries of the next")
    func restart() {
        var cursor = LogCursor()
        _ = cursor.start(at: 10)
        _ = cursor.receive(Self.entry(12))
        cursor.restart(at: 3)
        #expect(!cursor.isBehind)
        #expect((4...13).flatMap { cursor.receive(Self.entry($0, bytes: 3)) }.map(\.seq) == Array(4...13))
    }

    @Test("skipping pruned entries delivers the early ones")
    func skip() {
        var cursor = LogCursor()
        _ = cursor.start(at: 0)
        for seq in [3, 6, 9, 11] { _ = cursor.receive(Self.entry(seq)) }
        #expect(cursor.skip(to: 8).map(\.seq) == [3, 6, 9])
        #expect(cursor.skip(to: 5).isEmpty, "it never goes back")
        #expect(cursor.receive(Self.entry(10)).map(\.seq) == [10, 11])
    }

    @Test("an expected entry counts as behind until it arrives")
    func expect() {
        var cursor = LogCursor()
        cursor.expect(2)
        #expect(!cursor.isBehind, "before the start")
        _ = cursor.start(at: 1)
        #expect(cursor.isBehind)
        #expect(cursor.receive(Self.entry(2)).count == 1)
        #expect(!cursor.isBehind)
    }
}
