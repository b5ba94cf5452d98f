import Synchronization

/// An owner of deadlines, in `PendingRequests`.
package protocol DeadlineKeeper: AnyObject, Sendable {
    /// Ends what is late.
    ///
    /// - Returns: when it wants to be called again, if nothing comes meanwhile; nil if there is no need.
    func expire() -> ContinuousClock.Instant?
}

/// Calls a keeper when the next of its deadlines is over. While there is none nothing wakes up.
package final class DeadlineAlarm: Sendable {
    private struct State {
        var due: ContinuousClock.Instant?
        var sleep: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    deinit { state.withLock { $0.sleep?.cancel() } }

    /// Has the keeper called at this time, unless it is called sooner in any case. It is not held.
    package func set(_ due: ContinuousClock.Instant, for keeper: some DeadlineKeeper) {
        state.withLock { state in
            if let earlier = state.due, earlier <= due { return }
            state.sleep?.cancel()
            state.due = due
            state.sleep = Task { [weak self, weak keeper] in
                // Thrown if an earlier time was set, or nobody has the alarm any more.
                do { try await Task.sleep(until: due, clock: .continuous) } catch { return }
                guard let self, let keeper, take(due) else { return }
                if let next = keeper.expire() { set(next, for: keeper) }
            }
        }
    }

    /// True if it is still set to this time. A later deadline sets it again.
    private func take(_ due: ContinuousClock.Instant) -> Bool {
        state.withLock { state in
            guard state.due == due else { return false }
            (state.due, state.sleep) = (nil, nil)
            return true
        }
    }
}

/// Until when something sleeps that looks for what is late.
package struct ExpiryWatch {
    private var due: Duration?

    package init() {}

    package func isLate(for next: Duration?) -> Bool {
        guard let next else { return false }
        return due.map { next < $0 } ?? true
    }

    /// - Returns: when it is to wake up, if that is sooner than it would. From then on it does.
    package mutating func move(to next: Duration?) -> Duration? {
        guard isLate(for: next) else { return nil }
        due = next
        return next
    }

    /// It has woken up, or never will.
    package mutating func end() { due = nil }
}
