/// A call that a loop makes later, once. Made by `EventLoop.schedule`, used on its loop only.
///
/// It keeps its closure until it is cancelled or released, so that `rearm` costs no allocation: a closure that captures
/// the timer's owner strongly is a cycle until `cancel`.
///
/// Every member checks that it is called on the loop, which makes this safe to share.
public final class LoopTimer: @unchecked Sendable {
    let loop: EventLoop
    var work: (() -> Void)?
    /// When it is due; the entry in the queue may stand earlier, and is then moved when it comes up.
    var deadline = LoopInstant(nanoseconds: 0)
    /// Rises with each arming: equal deadlines fire in this order.
    var armed: UInt64 = 0
    /// The entry in the queue that counts; others of this timer are dead. nil: none.
    var entry: TimerQueue.Key?

    init(loop: EventLoop, work: @escaping () -> Void) {
        self.loop = loop
        self.work = work
    }

    public var isArmed: Bool {
        loop.preconditionCurrent()
        return entry != nil
    }

    /// Lets it fire once more, or later or earlier than was said. Later costs no search: a connection can do this with
    /// each packet. Without effect after `cancel`.
    public func rearm(after delay: Duration) {
        loop.preconditionCurrent()
        guard work != nil else { return }
        loop.timers.arm(self, at: .now() + delay)
    }

    /// It will not fire again, for good. Releases the closure.
    public func cancel() {
        loop.preconditionCurrent()
        // What the closure holds goes last: its end may come back here.
        let released = work
        withExtendedLifetime(released) {
            work = nil
            loop.timers.disarm(self)
        }
    }
}
