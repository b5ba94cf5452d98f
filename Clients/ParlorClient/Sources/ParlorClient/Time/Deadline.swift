/// Runs work with a time limit.
///
/// When the time is over or the task is cancelled, the work is cancelled too, but not awaited. So the caller returns
/// even if the work ignores its cancellation.
///
/// - Parameters:
///   - complaint: the text of the failure if the time is over.
///   - tooLate: gets a result that comes too late, such as a connection that has to be closed.
/// - Throws: `ClientFailure.offline` when the time is over; `CancellationError`; errors of `work`.
func within<Value: Sendable>(
    _ limit: Duration, by clock: any ClientClock, else complaint: String,
    tooLate: @escaping @Sendable (Value) -> Void = { _ in }, _ work: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    let first = FirstOutcome<Value>()
    let working = Task {
        let outcome: Result<Value, any Error>
        do { outcome = .success(try await work()) } catch { outcome = .failure(error) }
        if !first.settle(outcome), case .success(let value) = outcome { tooLate(value) }
    }
    let timing = Task {
        // The sleep is cancelled when there is another outcome.
        guard (try? await clock.sleep(for: limit)) != nil else { return }
        _ = first.settle(.failure(ClientFailure.offline(complaint)))
    }
    defer {
        working.cancel()
        timing.cancel()
    }
    return try await first.value
}

extension Task where Failure == any Error {
    /// The task's value. If the waiting task is cancelled, this throws `CancellationError` at once, and the task itself
    /// continues.
    var valueUnlessCancelled: Success {
        get async throws {
            let first = FirstOutcome<Success>()
            Task<Void, Never> { _ = first.settle(await result) }
            return try await first.value
        }
    }
}

/// Keeps the first of several outcomes, for one task that waits.
private final class FirstOutcome<Value: Sendable>: Sendable {
    private enum State: Sendable {
        case open
        case waiting(CheckedContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
    }

    private let state = Guarded(State.open)

    /// Records an outcome, and resumes the waiting task. Returns false if there was an earlier outcome.
    func settle(_ outcome: Result<Value, any Error>) -> Bool {
        let before = state.withLock { state in
            let before = state
            if case .settled = state { return before }
            state = .settled(outcome)
            return before
        }
        switch before {
        case .open: return true
        case .waiting(let waiter):
            waiter.resume(with: outcome)
            return true
        case .settled: return false
        }
    }

    var value: Value {
        get async throws {
            try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { wait($0) }
            } onCancel: {
                _ = settle(.failure(CancellationError()))
            }
        }
    }

    private func wait(_ waiter: CheckedContinuation<Value, any Error>) {
        let outcome: Result<Value, any Error>? = state.withLock { state in
            if case .settled(let outcome) = state { return outcome }
            state = .waiting(waiter)
            return nil
        }
        if let outcome { waiter.resume(with: outcome) }
    }
}
