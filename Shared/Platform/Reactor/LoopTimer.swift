import Glibc

/// A point on the monotonic clock, in eight bytes: connections keep several of them.
public struct LoopInstant: Comparable, Hashable, Sendable {
    /// Nanoseconds since the machine's start. The clock never returns 0.
    public let nanoseconds: UInt64

    public init(nanoseconds: UInt64) { self.nanoseconds = nanoseconds }

    /// Reads the clock (about 20 ns); `EventLoop.now` is read once a turn.
    public static func now() -> LoopInstant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return LoopInstant(nanoseconds: UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec))
    }

    public static func < (a: LoopInstant, b: LoopInstant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// Adds a duration. A negative duration counts as zero; the sum is at most `UInt64.max`.
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
    /// The duration in nanoseconds, rounded up, so that a timer never fires early; zero if negative, at most
    /// `UInt64.max`.
    var wholeNanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        let (whole, over) = UInt64(seconds).multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, overToo) = whole.addingReportingOverflow((UInt64(attoseconds) + 999_999_999) / 1_000_000_000)
        return over || overToo ? .max : sum
    }
}

/// A closure that a loop calls later, once. Made by `EventLoop.schedule`, used on its loop only.
///
/// It keeps its closure until it is cancelled or released, so that `rearm` costs no allocation. A closure
/// that captures the timer's owner strongly therefore makes a retain cycle, until `cancel`.
///
/// Every member checks that it is called on the loop, which makes this class safe to share.
public final class LoopTimer: @unchecked Sendable {
    let loop: EventLoop
    var work: (() -> Void)?
    /// The instant at which it is due. Its entry in the queue may be earlier, and is then moved when its time
    /// comes.
    var deadline = LoopInstant(nanoseconds: 0)
    /// The order number of the last arming. Timers with equal deadlines fire in this order.
    var armed: UInt64 = 0
    /// The current entry in the queue, or nil if there is none; other entries of this timer are dead.
    var entry: TimerQueue.Key?

    init(loop: EventLoop, work: @escaping () -> Void) {
        self.loop = loop
        self.work = work
    }

    public var isArmed: Bool {
        loop.preconditionCurrent()
        return entry != nil
    }

    /// Arms the timer again, for a later or earlier time. A later time is cheap: a connection can set one
    /// with each packet. No effect after `cancel`.
    public func rearm(after delay: Duration) {
        loop.preconditionCurrent()
        guard work != nil else { return }
        loop.timers.arm(self, at: .now() + delay)
    }

    /// Cancels the timer permanently and releases the closure.
    public func cancel() {
        loop.preconditionCurrent()
        // Release the closure last: the deinit of an object that it captured may call this timer.
        let released = work
        withExtendedLifetime(released) {
            work = nil
            loop.timers.disarm(self)
        }
    }
}
