import ParlorWorkers
import Synchronization

/// Counts the requests in progress.
final class InFlightRequests: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
    }

    private let limit: Int
    private let state = Mutex(State())
    /// The end of the last request after `close`.
    private let lastEnd = AsyncSignal()

    init(limit: Int) { self.limit = limit }

    var count: Int { state.withLock { $0.count } }
    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Begins a request. Returns false if the limit is reached, or after `close`. Each request that begins
    /// must `end`.
    func begin() -> Bool {
        state.withLock { state in
            guard !state.isClosed, state.count < limit else { return false }
            state.count += 1
            return true
        }
    }

    func end() {
        let isLast = state.withLock { state in
            state.count -= 1
            return state.isClosed && state.count == 0
        }
        if isLast { lastEnd.signal() }
    }

    /// Accepts no more requests, and waits for the last to end, at most `deadline`, or until the task is cancelled.
    ///
    /// - Returns: the number of requests still in progress.
    func close(within deadline: Duration) async -> Int {
        let count = state.withLock { state in
            state.isClosed = true
            return state.count
        }
        if count > 0 { await lastEnd.wait(atMost: deadline) }
        return self.count
    }
}
