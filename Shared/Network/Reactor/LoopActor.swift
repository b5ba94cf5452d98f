/// An actor that lives on a loop: its `unownedExecutor` is the loop's. Several actors may share one loop; a call from one into another is
/// synchronous then, and the compiler still keeps their state apart.
public protocol LoopActor: Actor {
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    /// Calls this at once. On the loop only: from a handler, a timer, or another actor of the loop.
    @inlinable
    public nonisolated func onLoop<Result: Sendable>(_ body: (isolated Self) throws -> Result) rethrows -> Result {
        try assumeIsolated(body)
    }

    /// Calls this at once if the caller is on the loop, else on the loop later. Calls from the loop stay in order, and so do those from one
    /// other thread.
    public nonisolated func enter(_ body: @escaping @Sendable (isolated Self) -> Void) {
        if loop.isCurrent { assumeIsolated(body) } else { enqueue(body) }
    }

    /// Calls this on the loop after all that was handed to it before; from the loop itself later in the same turn.
    public nonisolated func enqueue(_ body: @escaping @Sendable (isolated Self) -> Void) {
        loop.execute { self.assumeIsolated(body) }
    }
}
