import Contracts
import Glibc
import Synchronization

/// The time of day, as an input: tests advance one, the drill steps one.
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

/// A clock that stands until it is moved.
public final class ManualClock: WallClock {
    private let time: Mutex<Timestamp>

    public init(_ start: Timestamp = Timestamp(milliseconds: 1_700_000_000_000)) { time = Mutex(start) }

    public func now() -> Timestamp { time.withLock { $0 } }

    public func advance(by duration: Duration) { time.withLock { $0 = $0.adding(duration) } }
}
