import Synchronization

/// Looks after deadlines of `PendingRequests` while there are any: one task, which ends when there are none.
package final class DeadlineTicker: Sendable {
    private let isTicking = Atomic(false)

    package init() {}

    /// To be called after each deadline that is added; does nothing while it ticks.
    ///
    /// - Parameter isNeeded: whether there are deadlines left.
    package func start(while isNeeded: @escaping @Sendable () -> Bool, _ tick: @escaping @Sendable () -> Void) {
        guard !isTicking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task {
            repeat {
                // Thrown on cancellation only, and nobody cancels this task.
                try? await Task.sleep(for: PendingRequests<Void>.tick)
                tick()
            } while isNeeded()
            isTicking.store(false, ordering: .sequentiallyConsistent)
            // One that was added after the last look found it ticking still.
            if isNeeded() { start(while: isNeeded, tick) }
        }
    }
}
