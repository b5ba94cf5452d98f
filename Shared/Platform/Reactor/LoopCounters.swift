import Synchronization

/// A loop's counters since its start. Readable from any thread, for metrics.
public final class LoopCounters: Sendable {
    /// Turns of the loop: calls of epoll_wait.
    public let turns = Counter()
    /// System calls to write, including those that wrote only a part, or nothing.
    public let writes = Counter()
    public let bytesWritten = Counter()
    /// System calls to read, including those that read nothing.
    public let reads = Counter()
    public let bytesRead = Counter()
    /// The number of times that another thread had to wake the loop.
    public let wakeups = Counter()
    /// Connections accepted, made and attached.
    public let opened = Counter()
    /// Connections closed and detached.
    public let closed = Counter()

    public final class Counter: Sendable {
        private let count = Atomic<Int>(0)

        public var value: Int { count.load(ordering: .relaxed) }

        @inline(__always) func increment(by amount: Int = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
    }
}
