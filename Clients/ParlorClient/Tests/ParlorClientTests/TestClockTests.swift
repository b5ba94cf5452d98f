import Foundation
import ParlorClient
import ParlorClientTesting
import Testing

@Suite("TestClock", .timeLimit(.minutes(1)))
struct TestClockTests {
    private let clock = TestClock()

    private actor Diary {
        private(set) var entries: [String] = []
        func note(_ entry: String) { entries.append(entry) }
    }

    @Test("time stands still until it is advanced")
    func stands() async {
        let start = clock.now
        #expect(clock.now == start)
        await clock.advance(by: .milliseconds(1500))
        #expect(clock.now == start.addingTimeInterval(1.5))
    }

    @Test("sleepers wake in the order of their times, not of their calls")
    func order() async throws {
        let diary = Diary()
        let tasks = [3, 1, 2].map { seconds in
            Task { [clock] in
                try await clock.sleep(for: .seconds(seconds))
                await diary.note("\(seconds) at \(clock.elapsed)")
            }
        }
        await clock.untilSleeping(3)
        #expect(clock.sleepers == [.seconds(1), .seconds(2), .seconds(3)])
        await clock.advance(by: .seconds(5))
        #expect(await diary.entries == ["1 at 1.0 seconds", "2 at 2.0 seconds", "3 at 3.0 seconds"])
        for task in tasks { try await task.value }
    }

    @Test("sleepers with later times continue to sleep")
    func sleepsOn() async throws {
        let diary = Diary()
        let task = Task { [clock] in
            try await clock.sleep(for: .seconds(2))
            await diary.note("woke")
        }
        await clock.untilSleeping(1)
        await clock.advance(by: .milliseconds(1999))
        #expect(await diary.entries.isEmpty)
        #expect(clock.sleepers == [.milliseconds(1)])
        await clock.advance(by: .milliseconds(1))
        #expect(await diary.entries == ["woke"])
        try await task.value
    }

    @Test("a sleeper that sleeps again within the advance wakes again within it")
    func again() async throws {
        let diary = Diary()
        let task = Task { [clock] in
            for round in 1...3 {
                try await clock.sleep(for: .seconds(1))
                await diary.note("\(round)")
            }
        }
        await clock.untilSleeping(1)
        await clock.advance(by: .seconds(3))
        #expect(await diary.entries == ["1", "2", "3"])
        try await task.value
    }

    @Test("a cancelled sleep ends at once")
    func cancelling() async {
        let task = Task { [clock] in try await clock.sleep(for: .seconds(60)) }
        await clock.untilSleeping(1)
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(clock.sleepers.isEmpty)
    }

    @Test("a task cancelled before its sleep does not sleep")
    func cancelledBefore() async {
        let task = Task { [clock] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(60))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }

    @Test("a sleep of a given duration can be awaited, whatever else sleeps")
    func exactly() async throws {
        let others = Task { [clock] in try await clock.sleep(for: .seconds(9)) }
        await clock.untilSleeping(for: .seconds(9))
        let task = Task { [clock] in
            try await clock.sleep(for: .seconds(1))
            try await clock.sleep(for: .seconds(2))
        }
        await clock.untilSleeping(for: .seconds(1))
        await clock.advance(by: .seconds(1))
        await clock.untilSleeping(for: .seconds(2))
        await clock.advance(by: .seconds(2))
        try await task.value
        others.cancel()
    }
}
