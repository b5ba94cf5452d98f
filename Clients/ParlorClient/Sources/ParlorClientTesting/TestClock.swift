import Foundation
import ParlorClient

/// A clock that stands still until a test advances it.
///
/// ```swift
/// let clock = TestClock()
/// let typing = Task { try await clock.sleep(for: .seconds(2)) }
/// await clock.untilSleeping(1)
/// await clock.advance(by: .seconds(2))
/// try await typing.value
/// ```
public final class TestClock: ClientClock {
    private struct Sleeper: Sendable {
        let id: Int
        /// The whole duration of the sleep, not what is left of it.
        let length: Duration
        let wakesAt: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher: Sendable {
        let isSatisfied: @Sendable ([Sleeper]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State: Sendable {
        var elapsed: Duration = .zero
        var lastID = 0
        /// The ids of sleeps that were cancelled before they began.
        var cancelled: Set<Int> = []
        /// The sleepers in the order in which they wake. Those with the same time are in the order of their calls.
        var sleepers: [Sleeper] = []
        var watchers: [Watcher] = []
        /// The ids of sleepers that were woken but have not run yet.
        var waking: Set<Int> = []
        var witnesses: [Int: CheckedContinuation<Void, Never>] = [:]

        mutating func takeSatisfiedWatchers() -> [Watcher] {
            let satisfied = watchers.filter { $0.isSatisfied(sleepers) }
            watchers.removeAll { $0.isSatisfied(sleepers) }
            return satisfied
        }
    }

    private let start: Date
    private let state = Guarded(State())

    /// Creates a clock that stands at a time.
    public init(start: Date = Date(timeIntervalSince1970: 1_734_428_700)) { self.start = start }

    public var now: Date { start.addingTimeInterval(elapsed / .seconds(1)) }

    /// The time by which the clock has been advanced so far.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// The remaining time of each sleeper, shortest first.
    public var sleepers: [Duration] { state.withLock { state in state.sleepers.map { $0.wakesAt - state.elapsed } } }

    public func sleep(for duration: Duration) async throws {
        try Task.checkCancellation()
        guard duration > .zero else { return await Task.yield() }
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        defer { standUp(id) }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { fallAsleep(id, for: duration, $0) }
        } onCancel: {
            cancel(id)
        }
    }

    /// Advances the time, and returns when the tasks that woke have run.
    ///
    /// Sleepers wake one after the other, in the order of their times. While one runs, the time is exactly its wake
    /// time. So its next sleep starts at that time, and ends within this call if it is short enough. A task that then
    /// waits for something other than this clock is not awaited.
    public func advance(by duration: Duration) async {
        await Self.settle()
        let target = elapsed + max(duration, .zero)
        while let sleeper = takeNext(until: target) {
            sleeper.continuation.resume()
            await untilAwake(sleeper.id)
            await Self.settle()
        }
        state.withLock { $0.elapsed = max($0.elapsed, target) }
    }

    /// Waits until at least `count` tasks sleep. Tests use it before they advance the clock.
    public func untilSleeping(_ count: Int) async { await until { $0.count >= count } }

    /// Waits until a task sleeps whose sleep has exactly this duration. Other sleepers do not matter.
    public func untilSleeping(for length: Duration) async { await until { $0.contains { $0.length == length } } }

    private func until(_ isSatisfied: @escaping @Sendable ([Sleeper]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isSo = state.withLock { state in
                if isSatisfied(state.sleepers) { return true }
                state.watchers.append(Watcher(isSatisfied: isSatisfied, continuation: continuation))
                return false
            }
            if isSo { continuation.resume() }
        }
    }

    /// Lets all runnable tasks run, on the main actor and off it. It does so several times, because one task may start
    /// another.
    public static func settle() async {
        for _ in 0..<10 {
            await Task.detached { await Task.yield() }.value
            await MainActor.run {}
            await Task.detached(priority: .background) { await Task.yield() }.value
        }
    }

    private func fallAsleep(_ id: Int, for duration: Duration, _ continuation: CheckedContinuation<Void, any Error>) {
        let watchers: [Watcher]? = state.withLock { state in
            guard !state.cancelled.contains(id) else { return nil }
            let sleeper = Sleeper(
                id: id, length: duration, wakesAt: state.elapsed + duration, continuation: continuation)
            let index = state.sleepers.firstIndex { $0.wakesAt > sleeper.wakesAt } ?? state.sleepers.endIndex
            state.sleepers.insert(sleeper, at: index)
            return state.takeSatisfiedWatchers()
        }
        guard let watchers else { return continuation.resume(throwing: CancellationError()) }
        for watcher in watchers { watcher.continuation.resume() }
    }

    private func cancel(_ id: Int) {
        let sleeper: Sleeper? = state.withLock { state in
            guard let index = state.sleepers.firstIndex(where: { $0.id == id }) else {
                state.cancelled.insert(id)
                return nil
            }
            return state.sleepers.remove(at: index)
        }
        sleeper?.continuation.resume(throwing: CancellationError())
    }

    private func takeNext(until target: Duration) -> Sleeper? {
        state.withLock { state in
            guard let first = state.sleepers.first, first.wakesAt <= target else { return nil }
            state.elapsed = max(state.elapsed, first.wakesAt)
            state.waking.insert(first.id)
            return state.sleepers.removeFirst()
        }
    }

    /// Notes that a sleeper runs again. Its own task calls this.
    private func standUp(_ id: Int) {
        let witness = state.withLock { state in
            // A cancellation after the wake leaves an id here.
            state.cancelled.remove(id)
            state.waking.remove(id)
            return state.witnesses.removeValue(forKey: id)
        }
        witness?.resume()
    }

    private func untilAwake(_ id: Int) async {
        await withCheckedContinuation { continuation in
            let isAwake = state.withLock { state in
                guard state.waking.contains(id) else { return true }
                state.witnesses[id] = continuation
                return false
            }
            if isAwake { continuation.resume() }
        }
    }
}
