import Synchronization

/// An owner of deadlines, in `PendingRequests`.
package protocol DeadlineKeeper: AnyObject, Sendable {
    /// Ends requests whose deadline has passed.
    ///
    /// - Returns: the time of the next call, if nothing changes before; nil if none is needed.
    func expire() -> ContinuousClock.Instant?
}

/// Calls a keeper when the next of its deadlines has passed. While there is no deadline, no timer runs.
package final class DeadlineAlarm: Sendable {
    private struct State {
        var due: ContinuousClock.Instant?
        var sleep: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    deinit { state.withLock { $0.sleep?.cancel() } }

    /// Schedules a call of the keeper at this time, unless an earlier one is scheduled. It does not keep the
    /// keeper alive.
    package func set(_ due: ContinuousClock.Instant, for keeper: some DeadlineKeeper) {
        state.withLock { state in
            if let earlier = state.due, earlier <= due { return }
            state.sleep?.cancel()
            state.due = due
            state.sleep = Task { [weak self, weak keeper] in
                // Thrown if an earlier time was set, or the alarm was released.
                do { try await Task.sleep(until: due, clock: .continuous) } catch { return }
                guard let self, let keeper, take(due) else { return }
                if let next = keeper.expire() { set(next, for: keeper) }
            }
        }
    }

    /// Clears the alarm and returns true, if it is still set to this time.
    private func take(_ due: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard state.due == due else { return false }
            (state.due, state.sleep) = (nil, nil)
            return true
        }
    }
}

/// The time at which the owner's timer will next check for passed deadlines.
package struct ExpiryWatch {
    private var due: Duration?

    package init() {}

    package func isLate(for next: Duration?) -> Bool {
        guard let next else { return false }
        return due.map { next < $0 } ?? true
    }

    /// Moves the timer to an earlier time.
    ///
    /// - Returns: the new time if it is earlier than the current one. The owner must set its timer to it.
    package mutating func move(to next: Duration?) -> Duration? {
        guard isLate(for: next) else { return nil }
        due = next
        return next
    }

    /// Notes that the timer has fired, or never will.
    package mutating func end() { due = nil }
}
