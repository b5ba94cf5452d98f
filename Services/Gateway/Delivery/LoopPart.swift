import ParlorReactor

/// An actor that serves the clients of a loop. Several share the loop, so a call from one into another
/// (`onLoop`) is synchronous.
package protocol LoopPart: LoopActor {
    nonisolated var delivery: LoopDelivery { get }
}

extension LoopPart {
    /// Starts a task on the loop, after those that were started before. Its child tasks run on the loop, too.
    /// Until it ends it counts as an unanswered request of the loop.
    ///
    /// The runtime resumes a continuation's task on the executor that the task prefers, and from there
    /// returns it to its actor. Without a preference, that is a thread of the global pool: two threads would
    /// be woken unnecessarily for each reply.
    package nonisolated func startTask(_ work: @escaping @Sendable (isolated Self) async -> Void) {
        delivery.beginWork()
        Task(executorPreference: loop) { await self.finish(work) }
    }

    private func finish(_ work: @Sendable (isolated Self) async -> Void) async {
        await work(self)
        delivery.endWork()
    }
}
