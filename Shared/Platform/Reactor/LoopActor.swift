/// An actor that lives on one event loop, which is its executor. Several actors may share a loop: calls
/// between them are synchronous, and the compiler still isolates their states.
///
/// To conform, declare `nonisolated let loop: EventLoop`; the executor follows from it.
public protocol LoopActor: Actor {
    nonisolated var loop: EventLoop { get }
}

extension LoopActor {
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Calls a closure at once. On the loop only: from a handler, a timer, or another actor of the loop.
    @inlinable
    public nonisolated func onLoop<Result: Sendable>(_ body: (isolated Self) throws -> Result) rethrows -> Result {
        try assumeIsolated(body)
    }

    /// Calls a closure at once if the caller is on the loop, otherwise later on the loop. Calls from the loop
    /// stay in order, and so do those from one other thread.
    public nonisolated func enter(_ body: @escaping @Sendable (isolated Self) -> Void) {
        if loop.isCurrent { assumeIsolated(body) } else { enqueue(body) }
    }

    /// Calls a closure on the loop, after all work that was submitted before, like `EventLoop.execute`. Keeps the actor
    /// alive until then. In a closure with `[weak self]`, `self?.enqueue` does not keep it alive before the call.
    ///
    /// After the group's shutdown `body` is dropped.
    public nonisolated func enqueue(_ body: @escaping @Sendable (isolated Self) -> Void) {
        // Another closure around `body` would cost an allocation for each entry. The cast hides the actor's type,
        // and the loop passes this same actor. It is safe because neither isolation nor the class of the parameter
        // is part of the calling convention (`assumeIsolated` relies on that, too).
        loop.submit(.entry(self, unsafeBitCast(body, to: EventLoop.Entry.self)))
    }

    /// Returns `body` as a closure for the loop (`schedule`, `atEndOfTurn`, `inNextTurn`, `whenIdle`). The
    /// closure does not keep the actor alive, and does nothing once the actor is gone.
    public nonisolated func weakly(_ body: @escaping (isolated Self) -> Void) -> () -> Void {
        { [weak self] in self?.assumeIsolated(body) }
    }
}

/// A reference to an object that belongs to a loop, for code that may run anywhere.
///
/// The object can be accessed on its loop only, which is checked: that makes this type safe to share. The
/// last reference may be released on any thread, so the object's `deinit` must not rely on the loop.
public struct LoopBound<Object: AnyObject>: @unchecked Sendable {
    public let loop: EventLoop
    private let bound: Object

    /// Wraps an object. On the loop only.
    public init(_ object: Object, to loop: EventLoop) {
        loop.preconditionCurrent()
        self.loop = loop
        bound = object
    }

    /// The object. On the loop only.
    public var object: Object {
        loop.preconditionCurrent()
        return bound
    }

    /// Runs `work` on the loop, from any thread, after all work that was submitted before, like
    /// `LoopActor.enqueue`.
    public func enqueue(_ work: @escaping @Sendable (Object) -> Void) { loop.execute { work(object) } }
}

/// True if both refer to the same object. References may be compared on any thread.
extension LoopBound: Hashable {
    public static func == (left: LoopBound, right: LoopBound) -> Bool { left.bound === right.bound }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(bound)) }
}
