import ParlorMessageBus

/// A broker's limits for its peers.
public struct BrokerSettings: Sendable {
    public var access = BrokerAccess.open
    /// The maximum of bytes queued for one peer before it is disconnected as a slow reader.
    public var maxUnsentBytes = BusLimits.defaultMaxUnsentBytes
    /// A sender waits once it has queued this many bytes for one receiver that does not read. This is an eighth of
    /// the receiver's queue, so that several senders fit into it.
    public var maxUnsentBytesBySender: Int { maxUnsentBytes / 8 }
    /// How long a sender waits for one receiver. A busy process reads again sooner than this, and a person hardly
    /// notices such a wait.
    public var maxHold: Duration = .milliseconds(250)
    /// After a hold has timed out, no sender waits for that receiver for this long.
    public var holdPause: Duration = .seconds(10)
    /// What a peer with a rate may send at once after a pause, as the time that it would have for that.
    public var burst: Duration = .seconds(1)
    /// The silence after which a peer is pinged; after three times as long it counts as dead.
    public var pingInterval: Duration = .seconds(15)
    /// The time limit for a connection's hello, so that strangers do not hold descriptors.
    public var helloTimeout: Duration = .seconds(5)
    /// The limit of a peer's subscriptions. A service has tens, a gateway hundreds.
    public var maxSubscriptionsPerPeer = 4096
    /// The limit of one peer's requests without a reply.
    public var maxRequestsPerPeer = 65_536
    /// The maximum timeout. A longer one is reduced to it.
    public var maxTimeout: Duration = .seconds(3600)

    public init() {}
}

/// A broker's counters since its start, and its current state.
public struct BrokerCounters: Sendable, Equatable {
    public internal(set) var peers = 0
    public internal(set) var subscriptions = 0
    public internal(set) var requestsInFlight = 0

    public internal(set) var received = 0
    public internal(set) var delivered = 0
    public internal(set) var deliveredBytes = 0
    public internal(set) var requests = 0
    public internal(set) var noResponders = 0
    public internal(set) var deadlinesExceeded = 0
    public internal(set) var malformed = 0
    public internal(set) var slowConsumers = 0
    /// How often a sender had to wait for a receiver.
    public internal(set) var holds = 0
    /// How often a sender had to wait because of its rate.
    public internal(set) var throttled = 0
    public internal(set) var refusedPeers = 0
    public internal(set) var forbidden = 0
}

/// An event for the operator's log: who connected, who disconnected and why.
public enum BrokerNotice: Sendable, Equatable {
    case joined(peer: String)
    case left(peer: String)
    /// The broker disconnected the peer. The code is that of the error line that the broker sent last.
    case cut(peer: String, code: String)
    /// A refusal. Only a few are logged each minute, but all are counted.
    case forbidden(peer: String, BusRights.Operation, subject: String)
}
