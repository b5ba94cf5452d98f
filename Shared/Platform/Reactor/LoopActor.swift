/// An actor that lives on one event loop: the loop is its executor. Several actors may share one loop; a call from one into another
/// is synchronous then, and the compiler still keeps their state apart.
///
/// Conform with `nonisolated let loop: EventLoop`; the executor follows from it.
public protocol LoopActor: Actor {
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

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

    /// Calls this on the loop after all that was handed to it before; from the loop itself later in the same turn. Keeps the actor alive
    /// until then: `self?.enqueue` in a closure with `[weak self]` does not beforehand.
    ///
    /// After the group's shutdown `body` is dropped.
    public nonisolated func enqueue(_ body: @escaping @Sendable (isolated Self) -> Void) {
        // A closure around `body` would be an allocation for each entry. Without the actor's type it is the same function: isolation and the
        // class of what it takes are no part of how it is called (`assumeIsolated` relies on that, too), and the loop gives it this actor.
        loop.submit(.entry(self, unsafeBitCast(body, to: EventLoop.Entry.self)))
    }

    /// `body` as a call for the loop to make (`schedule`, `atEndOfTurn`, `inNextTurn`, `whenIdle`). The call does not keep the actor alive,
    /// and does nothing once the actor is gone.
    public nonisolated func weakly(_ body: @escaping (isolated Self) -> Void) -> () -> Void {
        { [weak self] in self?.assumeIsolated(body) }
    }
}

/// An object that belongs to a loop, in the hands of code that may run anywhere.
///
/// Only on its loop can it be taken out, which is checked: that makes this safe to share. The last reference may be let
/// go of anywhere, so the object's `deinit` must not rely on the loop.
public struct LoopBound<Object: AnyObject>: @unchecked Sendable {
    public let loop: EventLoop
    private let bound: Object

    /// On the loop only.
    public init(_ object: Object, to loop: EventLoop) {
        loop.preconditionCurrent()
        self.loop = loop
        bound = object
    }

    /// On the loop only.
    public var object: Object {
        loop.preconditionCurrent()
        return bound
    }

    /// Runs `work` on the loop, from any thread, after all that was handed to it before; as `LoopActor.enqueue` does.
    public func enqueue(_ work: @escaping @Sendable (Object) -> Void) { loop.execute { work(object) } }
}

/// Two are equal if they carry the same object. Comparing them is allowed anywhere.
extension LoopBound: Hashable {
    public static func == (left: LoopBound, right: LoopBound) -> Bool { left.bound === right.bound }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(bound)) }
}
