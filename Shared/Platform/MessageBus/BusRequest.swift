import ParlorJSON
import Synchronization

/// The content of an event or a reply. It is sent as JSON between processes; the in-process bus passes it on
/// unchanged.
public protocol BusPayload: Sendable {
    var json: JSONValue { get }

    /// An upper bound for the size of `json`. With it, most payloads need not be encoded to see that they fit the bus.
    var maxBytes: Int { get }
}

extension JSONValue: BusPayload {
    public var json: JSONValue { self }
    public var maxBytes: Int { bytes.count }
}

/// An event as a subscriber receives it.
public struct BusMessage: Sendable {
    public let subject: String
    /// The published value if the publisher is in this process, otherwise its JSON.
    public let payload: any BusPayload

    public init(subject: String, payload: any BusPayload) {
        self.subject = subject
        self.payload = payload
    }

    /// The payload as JSON. It is encoded at each call, unless it arrived as JSON.
    public var data: JSONValue { payload.json }
}

/// A request as its responder receives it. It waits for `reply` until its deadline.
public final class BusRequest: Sendable {
    public let subject: String
    public let data: JSONValue
    /// The context. Its `timeout` is the time that was left when the request arrived.
    public let context: BusContext
    public let deadline: ContinuousClock.Instant

    private let isReplied = Atomic(false)
    private let send: @Sendable (any BusPayload) -> Void

    /// - Parameter send: sends the reply; called at most once, on the thread that replies.
    init(
        subject: String, data: JSONValue, context: BusContext, deadline: ContinuousClock.Instant,
        send: @escaping @Sendable (any BusPayload) -> Void
    ) {
        self.subject = subject
        self.data = data
        self.context = context
        self.deadline = deadline
        self.send = send
    }

    /// The time until the deadline; zero or less once the sender has stopped waiting.
    public var remaining: Duration { ContinuousClock.now.duration(to: deadline) }

    /// Replies. May be called on any thread; that thread encodes the JSON if the reply leaves the process. Only
    /// the first reply is sent; a reply after the deadline is dropped. A reply that is too long for a line ends
    /// the request with `lineTooLong`.
    public func reply(_ payload: any BusPayload) {
        guard !isReplied.exchange(true, ordering: .acquiringAndReleasing) else { return }
        send(payload)
    }
}

/// The members of a request other than its data.
public struct BusContext: Sendable {
    /// The id of the operation, from the edge to the last service, for logs. It is not unique on the bus.
    public var requestID: String
    /// The caller, as the edge established it; opaque to the bus.
    public var caller: JSONValue?
    /// The time to wait for the reply. In a received request it is the time that was left on arrival.
    public var timeout: Duration
    /// The affinity key. Requests with the same key go to the same instance of the queue group, whatever their subject,
    /// while no instance joins or leaves the group. This keeps caches warm, and one sender's requests in order. NATS
    /// ignores the key.
    public var key: String?
    /// A trace context, opaque to the bus.
    public var trace: String?
    /// True if the request only reads, and so may be repeated. A bus that does not report lost responders (NATS)
    /// sends it again after a second without a reply. If a repetition finds no responder, the next one follows a
    /// second later. When many requests are late, only some are repeated. The responder does not see this flag.
    public var isRepeatable: Bool

    public init(
        requestID: String, caller: JSONValue? = nil, timeout: Duration = BusContext.defaultTimeout, key: String? = nil,
        trace: String? = nil, isRepeatable: Bool = false
    ) {
        self.requestID = requestID
        self.caller = caller
        self.timeout = timeout
        self.key = key
        self.trace = trace
        self.isRepeatable = isRepeatable
    }

    /// The default timeout: longer than any healthy reply takes, and short enough for a waiting person.
    public static let defaultTimeout: Duration = .seconds(5)
}
