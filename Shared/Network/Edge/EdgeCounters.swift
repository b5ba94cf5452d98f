import Synchronization

/// Counts of an `EdgeServer`'s work and resources. Readable from any thread, for metrics.
public final class EdgeCounters: Sendable {
    /// Connections that are open, of HTTP and WebSocket; those between two loops are.
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
    /// Connections that were refused on arrival, or had to make place for another, as there were too many: in all, and of one address.
    public let refusedConnections = Refusals()
    /// Sockets, the same.
    public let refusedSockets = Refusals()
    /// Requests, messages and unread answers that clients may not have buffered: in all, of one address, and of one person.
    public let refusedBytes = Refusals()
    /// Requests that moved to another loop, where their session is.
    public let moves = Count()

    private let usage: ClientUsage

    init(_ usage: ClientUsage) { self.usage = usage }

    /// Of `sockets`, those that have not connected to a namespace.
    public var unconnectedSockets: Int { usage.unconnectedSockets }
    /// Bytes buffered for clients over more than a turn (`EdgeLimits.bufferedBytes`).
    public var bufferedBytes: Int { usage.bufferedBytes }

    public final class Count: Sendable {
        private let count = Atomic<Int>(0)

        public var value: Int { count.load(ordering: .relaxed) }

        @inline(__always) func add(_ amount: Int) { count.wrappingAdd(amount, ordering: .relaxed) }
    }

    /// Refusals, by the limit that was exceeded.
    public final class Refusals: Sendable {
        public let total = Count()
        public let perAddress = Count()
        /// Of bytes alone.
        public let perPerson = Count()

        func note(_ excess: ClientUsage.Excess) {
            switch excess {
            case .total: total.add(1)
            case .perAddress: perAddress.add(1)
            case .perPerson: perPerson.add(1)
            }
        }
    }
}
