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
