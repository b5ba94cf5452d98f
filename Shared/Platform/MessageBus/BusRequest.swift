import JSON
import Synchronization

/// The content of an event or a reply. Between processes it travels as JSON; the bus within a
/// process passes it on as it is.
public protocol BusPayload: Sendable {
    var json: JSONValue { get }

    /// No less than `json` has. Most payloads are known by it to fit the bus before any JSON is made.
    var maxBytes: Int { get }
}

extension JSONValue: BusPayload {
    public var json: JSONValue { self }
    public var maxBytes: Int { bytes.count }
}

/// An event as a subscriber gets it.
public struct BusMessage: Sendable {
    public let subject: String
    /// The published value, if that was in this process; otherwise its JSON.
    public let payload: any BusPayload

    public init(subject: String, payload: any BusPayload) {
        self.subject = subject
        self.payload = payload
    }

    /// Encoded with each call, unless it arrived as JSON.
    public var data: JSONValue { payload.json }
}

/// A request as its responder gets it. It waits for `reply` until its deadline.
public final class BusRequest: Sendable {
    public let subject: String
    public let data: JSONValue
    /// Its `timeout` is what was left when the request arrived.
    public let context: BusContext
    public let deadline: ContinuousClock.Instant

    private let isReplied = Atomic(false)
    private let send: @Sendable (any BusPayload) -> Void

    /// - Parameter send: takes the reply; called once at most, on the thread that replies.
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

    /// Zero or less once nobody waits any more.
    public var remaining: Duration { ContinuousClock.now.duration(to: deadline) }

    /// Answers, from any thread, which makes the JSON if the answer leaves the process. Only the first reply counts; one after the deadline is dropped. A reply too long for a
    /// line ends the request with `lineTooLong`.
    public func reply(_ payload: any BusPayload) {
        guard !isReplied.exchange(true, ordering: .acquiringAndReleasing) else { return }
        send(payload)
    }
}

/// The members of a request beside its data.
public struct BusContext: Sendable {
    /// Names what is being done, from the edge to the last service: for logs. Not unique on the bus.
    public var requestID: String
    /// The caller, as the edge established it; opaque to the bus.
    public var caller: JSONValue?
    /// The time to wait for the reply. In a received request it is the time that was left then.
    public var timeout: Duration
    /// Requests with one key go to one instance of the queue group while its membership lasts, whatever their
    /// subject; NATS takes no notice. It warms caches and is no promise: nothing may depend on it.
    public var key: String?
    /// A trace context, opaque to the bus.
    public var trace: String?
    /// It only asks: where the bus does not report that a responder is gone (NATS), it is asked again after a second without a reply,
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
