/// How badly a network behaves by itself. Each is the probability that it happens to one packet.
public struct Chaos: Sendable, Equatable {
    /// An event is kept back, until a few packets later.
    public var lateEvents = 0.1
    public var doubledEvents = 0.1
    /// The server does what is asked, and nobody learns of it.
    public var lostAnswers = 0.05
    /// The request does not reach the server.
    public var lostRequests = 0.05
    /// An ack overtakes what it has brought about.
    public var earlyAcks = 0.1
    /// The socket ends.
    public var drops = 0.02

    public init() {}

    /// Nothing happens, but for what is then set.
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

/// In which order held events arrive in the end.
public enum ReleaseOrder: Sendable, Equatable {
    case asSent, reversed
    case shuffled(seed: UInt64)
}
