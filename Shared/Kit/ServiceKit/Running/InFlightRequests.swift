import Synchronization

/// Counts the requests in progress, and resumes a waiting caller when the last of them has ended.
final class InFlightRequests: Sendable {
    private struct State {
        var count = 0
        var isClosed = false
        var isOverdue = false
        var waiting: CheckedContinuation<Void, Never>?

        mutating func takeWaiting() -> CheckedContinuation<Void, Never>? {
            guard count == 0 || isOverdue else { return nil }
            defer { waiting = nil }
            return waiting
        }
    }

    private let limit: Int
    private let state = Mutex(State())

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
        let waiting = state.withLock { state in
            state.count -= 1
            return state.takeWaiting()
        }
        waiting?.resume()
    }

    /// Accepts no further requests, and waits for the last to end, at most `deadline`. To be called once.
    ///
    /// - Returns: the number of requests still in progress.
    func close(within deadline: Duration) async -> Int {
        state.withLock { $0.isClosed = true }
        let alarm = Task {
            do { try await Task.sleep(for: deadline) } catch { return }  // cancelled, as none is left
            let waiting = state.withLock { state in
                state.isOverdue = true
                return state.takeWaiting()
            }
            waiting?.resume()
        }
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state in
                state.waiting = continuation
                return state.takeWaiting()
            }
            ready?.resume()
        }
        alarm.cancel()
        return state.withLock { $0.count }
    }
}
