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
