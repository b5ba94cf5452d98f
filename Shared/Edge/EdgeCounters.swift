import Synchronization

/// What an `EdgeServer` has done and holds. Readable from any thread, for metrics.
public final class EdgeCounters: Sendable {
    /// Connections that are open, of HTTP and WebSocket.
    public let connections = Count()
    /// Engine.IO sessions that are open.
    public let sockets = Count()
    /// Of `sockets`, those by WebSocket.
    public let webSockets = Count()
    public let requests = Count()
    /// Connections and sessions that were cut off because their client did not read.
    public let slowCloses = Count()
    /// Packets that were not sent to a client that was behind.
    public let dropped = Count()
    /// Requests that moved to another loop, where their session is.
    public let moves = Count()

    public final class Count: Sendable {
        private let count = Atomic<Int>(0)

        public var value: Int { count.load(ordering: .relaxed) }

        @inline(__always) func add(_ amount: Int) { count.wrappingAdd(amount, ordering: .relaxed) }
    }
}
