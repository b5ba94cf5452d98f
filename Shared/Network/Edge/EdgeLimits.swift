import Reactor

/// How much clients may hold of a server at once: in all, over all loops, and from one address (`IPAddress.subscriber`).
///
/// Over the limit in all, a newcomer takes the place of whoever has waited longest without finishing a request or a CONNECT; those who
/// are in keep theirs. Over the limit of its address it is refused.
public struct EdgeLimits: Sendable {
    public struct Limit: Sendable {
        public var total: Int
        /// nil: addresses are not counted.
        public var perAddress: Int?

        public init(total: Int, perAddress: Int?) {
            self.total = total
            self.perAddress = perAddress
        }
    }

    /// Open connections. One whose socket has connected to a namespace counts in all only: thousands of people may share an address.
    public var connections = Limit(total: 10_000, perAddress: 1_000)
    /// Sockets that have not connected to a namespace yet.
    public var unconnectedSockets = Limit(total: 5_000, perAddress: 500)
    /// Bytes that are buffered for clients over more than a turn: requests and parts of them, messages, and answers that are not read.
    /// Clients that have neither connected nor signed in may use half of them together, and an eighth of an address's share.
    /// `smallBuffer` bytes are always granted. Who reads an answer goes on reading it up to half as much again.
    public var bufferedBytes = Limit(total: 128 << 20, perAddress: 32 << 20)

    /// What a client may buffer however much others do. The number of connections bounds it, so it is memory that has to be there for each
    /// of them: a head and a small body.
    static let smallBuffer = 4 * 1024
    /// Clients of an address that have neither connected nor signed in may have this part of its share. Sixteen addresses fill what all of
    /// them may have, by default.
    static let strangersPart = 8

    /// The largest message or POST of a socket before it has connected to a namespace.
    public var maxUnconnectedMessageBytes = 64 * 1024
    /// Messages that a socket may send before it has connected to a namespace. Clients send one.
    public var maxUnconnectedMessages = 64

    /// Percent of a loop's time that one address may use for having its requests and messages taken; nil: all of it. Of a trusted
    /// proxy's connections, which are not pipelined, only WebSockets count.
    public var loopTimePerAddress: Int?

    /// Values for other servers, such as those of tests. A gateway's come from `fitting` and its settings.
    public init() {}
}

extension EdgeLimits {
    /// What a machine has room for.
    ///
    /// Some descriptors are left for what is no client's: databases, the bus, health checks, connections that are being closed.
    ///
    /// - Parameters:
    ///   - descriptors: that the process may open.
    ///   - memory: that it may use, in bytes.
    ///   - loops: event loops.
    public static func fitting(descriptors: Int, memory: Int, loops: Int) -> EdgeLimits {
        let reserve = 128 + loops * Channel.maxLingering
        // What is always granted may take a quarter of the memory, what is counted another, and what readers have beyond that an eighth. A
        // connection with little to do takes 1 to 3 kB.
        let most = max(min(max(descriptors - reserve, descriptors / 4), memory / 4 / smallBuffer), 16)
        var limits = EdgeLimits()
        limits.connections = Limit(total: most, perAddress: min(most / 4, 1_000))
        limits.unconnectedSockets = Limit(total: most / 2, perAddress: min(most / 8, 500))
        let buffered = max(min(memory / 4, 128 << 20), 8 << 20)
        limits.bufferedBytes = Limit(total: buffered, perAddress: buffered / 4)
        limits.loopTimePerAddress = 25
        return limits
    }
}
