import Synchronization

/// Counts of an `EdgeServer`'s work and resources. Readable from any thread, for metrics.
public final class EdgeCounters: Sendable {
    /// Open connections, HTTP and WebSocket, including those that move between two loops.
    public let connections = Count()
    /// Engine.IO sessions that are open.
    public let sockets = Count()
    /// The number of `sockets` that use WebSocket.
    public let webSockets = Count()
    public let requests = Count()
    /// Connections and sessions that were cut off because their client did not read.
    public let slowCloses = Count()
    /// Packets that were not sent to a client that was behind.
    public let dropped = Count()
    /// Connections that were refused on arrival or evicted for another, because there were too many: in
    /// total, and of one address.
    public let refusedConnections = Refusals()
    /// Sockets that were refused or evicted, in the same way.
    public let refusedSockets = Refusals()
    /// Requests, messages and unread answers that were refused because clients had too much buffered: in
    /// total, of one address, and of one person.
    public let refusedBytes = Refusals()
    /// Requests that moved to another loop, where their session is.
    public let moves = Count()

    private let usage: ClientUsage

    init(_ usage: ClientUsage) { self.usage = usage }

    /// The number of `sockets` that have not connected to a namespace.
    public var unconnectedSockets: Int { usage.unconnectedSockets }
    /// Bytes buffered for clients for longer than a turn (`EdgeLimits.bufferedBytes`).
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
        /// Refusals by the limit of a person, which exists for bytes alone.
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
