import ParlorReactor

/// The limits of the connections, sockets and memory that clients may hold at once: in total, over all loops, and from
/// one address (`IPAddress.subscriber`).
///
/// At the total limit, a new connection evicts an idle connection or, if there is none, an unconnected WebSocket. A new
/// socket evicts an unconnected socket, by WebSocket or polling. The loop with the most such clients evicts the one of
/// its own that has waited longest. If no loop has any, the newcomer is refused. Connections with a request in progress
/// and connected sockets stay. At the limit of its address, a new client is refused.
public struct EdgeLimits: Sendable {
    public struct Limit: Sendable {
        public var total: Int
        /// The limit of one address; nil: addresses are not counted.
        public var perAddress: Int?

        public init(total: Int, perAddress: Int?) {
            self.total = total
            self.perAddress = perAddress
        }
    }

    /// Open connections. The limit of an address does not count connections whose socket has connected to a
    /// namespace (`connectedSocketsPerAddress`).
    public var connections = Limit(total: 10_000, perAddress: 1_000)
    /// The connections of one address whose sockets have connected to a namespace; nil: no limit. It is high, as
    /// thousands of people may share an address. Connections beyond it count among `connections`.
    public var connectedSocketsPerAddress: Int?
    /// Sockets that have not connected to a namespace yet.
    public var unconnectedSockets = Limit(total: 5_000, perAddress: 500)
    /// Bytes that are buffered for clients for longer than a turn: requests and parts of them, messages, and
    /// unread answers. Clients that have neither connected nor signed in may use half of the total, and an
    /// eighth of an address's share. `smallBuffer` bytes are always granted. For a known client that is reading
    /// an answer, the total is one and a half times as high.
    public var bufferedBytes = Limit(total: 128 << 20, perAddress: 32 << 20)

    /// The bytes that each client may buffer regardless of others: a head and a small body. The number of
    /// connections bounds this memory.
    static let smallBuffer = 4 * 1024
    /// The bytes that the kernel holds for a client that has not connected a socket and does not read, and for one that has.
    /// It takes some more, in whole packets. What it does not take waits here, where it is counted (`maxUnsentBytes`).
    static let unreadByStranger = 32 * 1024
    static let unreadBySocket = 128 * 1024
    /// The bytes that the kernel receives from a client before they are read. With a round trip of 100 ms, a client can still
    /// send a megabyte a second.
    static let receiveBuffer = 128 * 1024
    /// The memory of a connection whose client has just connected again (`docs/scaling.md`). It includes
    /// `smallBuffer`, the session and the output. An idle connection takes a tenth of it.
    static let connectionBytes = 20 * 1024
    /// An address's clients that have neither connected nor signed in may use one eighth of its share. By
    /// default, sixteen addresses fill what all such clients may have.
    static let strangersPart = 8

    /// The largest message or POST of a socket before it has connected to a namespace.
    public var maxUnconnectedMessageBytes = 64 * 1024
    /// Messages that a socket may send before it has connected to a namespace, and packets in one of its POSTs. Clients
    /// send one.
    public var maxUnconnectedMessages = 64

    /// The percentage of a loop's time that one address may use for the processing of its requests and
    /// messages; nil: no limit. Behind a trusted proxy each request counts for its own client's address.
    public var loopTimePerAddress: Int?

    /// Creates the defaults, for tests and other servers. A gateway's limits come from `fitting` and its settings.
    public init() {}
}

extension EdgeLimits {
    /// Returns the limits that suit a machine.
    ///
    /// Some descriptors are reserved for databases, the bus, health checks and connections that are being
    /// closed.
    ///
    /// - Parameters:
    ///   - descriptors: the number that the process may open.
    ///   - memory: the bytes that it may use.
    ///   - loops: the number of event loops.
    ///   - connections: the total to use instead; the other numbers of connections and sockets are parts of it.
    ///   - buffered: the total of buffered bytes to use instead.
    public static func fitting(
        descriptors: Int, memory: Int, loops: Int, connections: Int? = nil, buffered: Int? = nil
    ) -> EdgeLimits {
        let reserve = 128 + Evictions.maxPending + loops * Channel.maxLingering
        // Connections may take half of the memory, buffered bytes a quarter, and the readers' excess an eighth.
        let fitting = max(min(max(descriptors - reserve, descriptors / 4), memory / 2 / connectionBytes), 16)
        let most = connections ?? fitting
        var limits = EdgeLimits()
        limits.connections = Limit(total: most, perAddress: max(min(most / 4, 1_000), 1))
        limits.connectedSocketsPerAddress = max(most / 4, 1)
        limits.unconnectedSockets = Limit(total: max(most / 2, 1), perAddress: max(min(most / 8, 500), 1))
        let bytes = buffered ?? max(min(memory / 4, 128 << 20), 8 << 20)
        limits.bufferedBytes = Limit(total: bytes, perAddress: max(bytes / 4, 1))
        // It takes four addresses to fill a loop.
        limits.loopTimePerAddress = 25
        return limits
    }
}
