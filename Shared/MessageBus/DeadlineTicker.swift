import Synchronization

/// What has deadlines to look after, in `PendingRequests`.
package protocol DeadlineKeeper: AnyObject, Sendable {
    var hasDeadlines: Bool { get }

    /// Ends what is late.
    func tick()
}

/// Has a keeper look after its deadlines while there are any: one task, which ends when there are none.
package final class DeadlineTicker: Sendable {
    private let isTicking = Atomic(false)

    package init() {}

    /// To be called after each deadline that is added; does nothing while it ticks. The keeper is not held.
    package func start(for keeper: some DeadlineKeeper) {
        guard !isTicking.exchange(true, ordering: .acquiringAndReleasing) else { return }
        Task { [weak keeper] in
            repeat {
                // Thrown on cancellation only, and nobody cancels this task.
                try? await Task.sleep(for: PendingRequests<Void>.tick)
                keeper?.tick()
            } while keeper?.hasDeadlines ?? false
            isTicking.store(false, ordering: .sequentiallyConsistent)
            // One that was added after the last look found it ticking still.
            if let keeper, keeper.hasDeadlines { start(for: keeper) }
        }
    }
}
