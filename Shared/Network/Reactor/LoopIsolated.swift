/// An actor that lives on one event loop: the loop is its executor.
///
/// Conform with `nonisolated let loop: EventLoop`. What the loop calls itself (handlers, timers) enters the actor with `assumeIsolated`,
/// checked and without a hop; code that may run anywhere calls `enter`.
public protocol LoopIsolated: Actor {
    nonisolated var loop: EventLoop { get }
}

extension LoopIsolated {
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Runs `work` on the actor, from any thread, after all that was handed to its loop before; from the loop itself it runs later in the
    /// same turn. Keeps the actor alive until then: `self?.enter` in a closure with `[weak self]` does not beforehand.
    ///
    /// After the group's shutdown `work` is dropped.
    @inlinable
    public nonisolated func enter(_ work: @escaping @Sendable (isolated Self) -> Void) {
        loop.execute { self.assumeIsolated(work) }
    }

    /// `work` as a call for the loop to make (`schedule`, `atEndOfTurn`, `inNextTurn`, `whenIdle`). The call does not keep the actor alive,
    /// and does nothing once the actor is gone.
    @inlinable
    public nonisolated func weakly(_ work: @escaping (isolated Self) -> Void) -> () -> Void {
        { [weak self] in self?.assumeIsolated(work) }
    }
}
