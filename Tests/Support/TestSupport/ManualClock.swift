import ParlorContracts
import Synchronization

/// A clock that stands still until it is advanced.
public final class ManualClock: WallClock {
    private let time: Mutex<Timestamp>

    public init(_ start: Timestamp = Timestamp(milliseconds: 1_700_000_000_000)) { time = Mutex(start) }

    public func now() -> Timestamp { time.withLock { $0 } }

    public func advance(by duration: Duration) { time.withLock { $0 = $0.adding(duration) } }
}
