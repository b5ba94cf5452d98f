import Glibc

/// The time of day, as a dependency: unit tests advance it, and `parlor-drill` shifts it in steps.
public protocol WallClock: Sendable {
    func now() -> Timestamp
}

public struct SystemClock: WallClock {
    public init() {}

    public func now() -> Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: time.tv_sec * 1000 + time.tv_nsec / 1_000_000)
    }
}
