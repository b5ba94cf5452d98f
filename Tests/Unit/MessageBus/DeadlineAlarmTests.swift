import Synchronization
import Testing

@testable import ParlorMessageBus

@Suite("deadline alarm", .timeLimit(.minutes(1)))
struct DeadlineAlarmTests {
    /// Reports how often it was called, and asks to be called again as often as it was set to.
    private final class Keeper: DeadlineKeeper {
        private let more: Mutex<[ContinuousClock.Instant]>
        private let fired: AsyncStream<ContinuousClock.Instant>.Continuation
        let calls: AsyncStream<ContinuousClock.Instant>

        init(again more: [ContinuousClock.Instant] = []) {
            self.more = Mutex(more)
            (calls, fired) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
        }

        deinit { fired.finish() }

        func expire() -> ContinuousClock.Instant? {
            fired.yield(.now)
            return more.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        }
    }

    @Test("an owner is called at the set time, and not before")
    func onTime() async throws {
        let (alarm, keeper) = (DeadlineAlarm(), Keeper())
        let due = ContinuousClock.now + .milliseconds(30)
        alarm.set(due, for: keeper)
        var calls = keeper.calls.makeAsyncIterator()
        #expect(try #require(await calls.next()) >= due)
    }

    @Test("an earlier time replaces a later one, and a later one changes nothing")
    func earlier() async throws {
        let (alarm, keeper) = (DeadlineAlarm(), Keeper())
        alarm.set(.now + .seconds(3600), for: keeper)
        alarm.set(.now + .milliseconds(50), for: keeper)
        alarm.set(.now + .seconds(3600), for: keeper)
        var calls = keeper.calls.makeAsyncIterator()
        _ = try #require(await calls.next())
    }

    @Test("it calls again on request, and whenever a time is set after a call")
    func again() async throws {
        let (alarm, keeper) = (DeadlineAlarm(), Keeper(again: [.now, .now]))
        alarm.set(.now, for: keeper)
        var calls = keeper.calls.makeAsyncIterator()
        for _ in 0..<3 { _ = try #require(await calls.next()) }
        alarm.set(.now, for: keeper)
        _ = try #require(await calls.next())
    }

    @Test("it retains no owner: one that is gone is not called")
    func gone() async throws {
        let alarm = DeadlineAlarm()
        var keeper: Keeper? = Keeper()
        var calls = try #require(keeper).calls.makeAsyncIterator()
        alarm.set(.now + .seconds(3600), for: try #require(keeper))
        keeper = nil
        #expect(await calls.next() == nil)
    }
}
