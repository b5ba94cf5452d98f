import Glibc

/// A point on the monotonic clock, in eight bytes: connections keep several of them.
public struct LoopInstant: Comparable, Hashable, Sendable {
    /// Since the machine's start. 0 is never read from the clock.
    public let nanoseconds: UInt64

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Reads the clock (about 20 ns); `EventLoop.now` is the same, read once a turn.
    public static func now() -> LoopInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    public static func < (a: LoopInstant, b: LoopInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// A negative duration counts as zero; the far end of time is `UInt64.max`.
    public static func + (instant: LoopInstant, duration: Duration) -> LoopInstant {
        let (sum, over) = instant.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return LoopInstant(nanoseconds: over ? .max : sum)
    }

    public static func - (a: LoopInstant, b: LoopInstant) -> Duration {
        a >= b
            ? .nanoseconds(Int64(clamping: a.nanoseconds - b.nanoseconds))
            : .zero - .nanoseconds(Int64(clamping: b.nanoseconds - a.nanoseconds))
    }
}

extension Duration {
    /// Rounded up, so that a timer never fires early; zero if negative, saturated at the top.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, over) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overToo) = whole.addingReportingOverflow((UInt64(attoseconds) + 999_999_999) / 1_000_000_000)
        return over || overToo ? .max : sum
    }
}

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

    /// Lets it fire again, or later or earlier than before. Later is cheap: a connection can do
    /// this with each packet. No effect after `cancel`.
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
