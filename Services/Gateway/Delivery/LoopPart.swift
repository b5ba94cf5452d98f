import Reactor

/// One of the actors that serve the clients of a loop. They share the loop, so a call from one into another (`onLoop`) is synchronous.
package protocol LoopPart: LoopActor {
    nonisolated var delivery: LoopDelivery { get }
}

extension LoopPart {
    /// Starts a task on the loop, after those that were started before. Its child tasks run on the loop, too. Until it ends it counts as
    /// something that was asked on the loop and is not answered yet.
    ///
    /// The runtime resumes a continuation's task on the executor that the task prefers, and from there takes it back to its actor. Where
    /// none is preferred, that is a thread of the global pool: two threads are woken for nothing, once for each answer.
    package nonisolated func startTask(_ work: @escaping @Sendable (isolated Self) async -> Void) {
        delivery.beginWork()
        Task(executorPreference: loop) { await self.finish(work) }
    }

    private func finish(_ work: @Sendable (isolated Self) async -> Void) async {
        await work(self)
        delivery.endWork()
    }
}
