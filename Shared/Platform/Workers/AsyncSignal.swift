import Synchronization

/// Lets one task wait for a signal or a time, whichever comes first. A signal without a waiting task ends the
/// next wait.
public final class AsyncSignal: Sendable {
    private struct State {
        var isSignalled = false
        var waiting: CheckedContinuation<Void, Never>?
        /// The number of the wait, which distinguishes the timer of an earlier wait from the current one.
        var round = 0
        /// The last wait that its timer or a cancellation has ended, maybe before its continuation existed.
        var endedRound = 0

        mutating func takeWaiting() -> CheckedContinuation<Void, Never>? {
            defer { waiting = nil }
            return waiting
        }
    }

    private let state = Mutex(State())

    public init() {}

    /// Sends the signal. From any thread; never waits.
    public func signal() {
        state.withLock { state in
            state.isSignalled = state.waiting == nil
            return state.takeWaiting()
        }?.resume()
    }

    /// Returns after a signal, after the time, or when the task is cancelled.
    public func wait(atMost limit: Duration) async {
        let round = state.withLock { state in
            state.round += 1
            return state.round
        }
        let timer = Task {
            try? await Task.sleep(for: limit)  // cancelled once the wait is over
            end(round)
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    if state.isSignalled || state.endedRound == round {
                        state.isSignalled = false
                        return true
                    }
                    state.waiting = continuation
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            end(round)
        }
        timer.cancel()
    }

    private func end(_ round: Int) {
        state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard state.round == round else { return nil }
            state.endedRound = round
            return state.takeWaiting()
        }?.resume()
    }
}
