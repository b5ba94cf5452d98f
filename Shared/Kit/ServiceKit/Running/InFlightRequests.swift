import Synchronization

/// Counts the requests under way, and knows when the last of them has ended.
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

    /// False, and then nothing begins, if as many as may be are under way, or after `close`. Each that begins has to `end`.
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

    /// Lets none begin any more, and waits for the last to end, at most `deadline`. Called once.
    ///
    /// - Returns: how many are still under way.
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
