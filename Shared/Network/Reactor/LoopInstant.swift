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
