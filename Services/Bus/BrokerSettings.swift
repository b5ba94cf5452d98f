import MessageBus

/// What a broker allows its peers.
public struct BrokerSettings: Sendable {
    public var access = BrokerAccess.open
    /// How many bytes may wait for one peer before it is cut off as a slow consumer.
    public var maxPendingBytes = BusLimits.defaultMaxPendingBytes
    /// A peer that was silent this long is pinged; after three times as long it is dead.
    public var pingInterval: Duration = .seconds(15)
    /// How long a connection may take to say hello: strangers must not hold descriptors.
    public var helloTimeout: Duration = .seconds(5)
    /// A service has tens, a gateway hundreds.
    public var maxSubscriptionsPerPeer = 4096
    /// How many requests of one peer may wait for their replies.
    public var maxRequestsPerPeer = 65_536
    /// A deadline beyond this counts as this.
    public var maxTimeout: Duration = .seconds(3600)

    public init() {}
}

/// What a broker has done since it was made, and what it holds now.
public struct BrokerCounters: Sendable, Equatable {
    public internal(set) var peers = 0
    public internal(set) var subscriptions = 0
    public internal(set) var requestsUnderWay = 0

    public internal(set) var received = 0
    public internal(set) var delivered = 0
    public internal(set) var deliveredBytes = 0
    public internal(set) var requests = 0
    public internal(set) var noResponders = 0
    public internal(set) var deadlinesExceeded = 0
    public internal(set) var malformed = 0
    public internal(set) var slowConsumers = 0
    public internal(set) var refusedPeers = 0
    public internal(set) var forbidden = 0
}

/// What an operator wants to see in the log: who came, who went and why.
public enum BrokerNotice: Sendable, Equatable {
    case joined(peer: String)
    case left(peer: String)
    /// By the broker, with the code of its last line to it.
    case cut(peer: String, code: String)
    /// A few of each minute; all are counted.
    case forbidden(peer: String, BusRights.Operation, subject: String)
}
