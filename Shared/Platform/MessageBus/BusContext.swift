import JSON

/// What travels with a request beside its data.
public struct BusContext: Sendable {
    /// Names what is being done, from the edge to the last service: for logs. Not unique on the bus.
    public var requestID: String
    /// Who asks, as the edge established it; opaque to the bus.
    public var caller: JSONValue?
    /// How long the reply is waited for. In a request that arrives it is what was left then.
    public var timeout: Duration
    /// Requests with one key go to one instance of the queue group while its membership lasts, whatever their
    /// subject; NATS takes no notice. It warms caches and is no promise: nothing may depend on it.
    public var key: String?
    /// A trace context, opaque to the bus.
    public var trace: String?
    /// It only asks: where nobody tells when a responder is gone (NATS), it is asked again after a second without a reply,
    /// and so on while nobody serves it; of many that are late only some are. It does not travel.
    public var isQuestion: Bool

    public init(
        requestID: String, caller: JSONValue? = nil, timeout: Duration = BusContext.defaultTimeout, key: String? = nil,
        trace: String? = nil, isQuestion: Bool = false
    ) {
        self.requestID = requestID
        self.caller = caller
        self.timeout = timeout
        self.key = key
        self.trace = trace
        self.isQuestion = isQuestion
    }

    /// Longer than any healthy answer takes, shorter than a person's patience.
    public static let defaultTimeout: Duration = .seconds(5)
}
