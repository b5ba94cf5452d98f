/// The random faults of a network. Each value is a probability per packet or HTTP request.
public struct Chaos: Sendable, Equatable {
    /// The probability that an event arrives a few packets later.
    public var lateEvents = 0.1
    /// The probability that an event arrives twice.
    public var doubledEvents = 0.1
    /// The probability that the server acts on a request but its answer is lost.
    public var lostAnswers = 0.05
    /// The probability that a request does not reach the server.
    public var lostRequests = 0.05
    /// The probability that an ack arrives before the events that its request causes.
    public var earlyAcks = 0.1
    /// The probability that the socket ends.
    public var drops = 0.02

    public init() {}

    /// No faults. A test sets those that it needs.
    public static var none: Chaos {
        var chaos = Chaos()
        chaos.lateEvents = 0
        chaos.doubledEvents = 0
        chaos.lostAnswers = 0
        chaos.lostRequests = 0
        chaos.earlyAcks = 0
        chaos.drops = 0
        return chaos
    }
}

/// The order in which held packets are delivered.
public enum ReleaseOrder: Sendable, Equatable {
    case asSent, reversed
    case shuffled(seed: UInt64)
}
