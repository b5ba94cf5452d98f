/// An actor that lives on one event loop: the loop is its executor.
///
/// Conform with `nonisolated let loop: EventLoop`, and leave `unownedExecutor` as it is. What the loop calls itself (handlers, timers) enters the actor with `assumeIsolated`,
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
    public nonisolated func enter(_ work: @escaping @Sendable (isolated Self) -> Void) {
        // A closure around `work` would be an allocation for each entry. Without the actor's type it is the same function: isolation and the
        // class of what it takes are no part of how it is called (`assumeIsolated` relies on that, too), and the loop gives it this actor.
        loop.submit(.entry(self, unsafeBitCast(work, to: EventLoop.Entry.self)))
    }

    /// `work` as a call for the loop to make (`schedule`, `atEndOfTurn`, `inNextTurn`, `whenIdle`). The call does not keep the actor alive,
    /// and does nothing once the actor is gone.
    public nonisolated func weakly(_ work: @escaping (isolated Self) -> Void) -> () -> Void {
        { [weak self] in self?.assumeIsolated(work) }
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

    /// Runs `work` on the loop, from any thread, after all that was handed to it before; as `LoopIsolated.enter` does.
    public func enter(_ work: @escaping @Sendable (Object) -> Void) { loop.execute { work(object) } }
}

/// Two are equal if they carry the same object. Comparing them is allowed anywhere.
extension LoopBound: Hashable {
    public static func == (left: LoopBound, right: LoopBound) -> Bool { left.bound === right.bound }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(bound)) }
}
