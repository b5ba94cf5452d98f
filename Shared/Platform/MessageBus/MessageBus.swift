import ParlorJSON
import Synchronization

/// Connects services: events go to all subscribers, requests to one instance of the service that serves them.
///
/// A subject consists of dotted lower-case tokens (`rooms.renamed`). In a pattern `*` matches one token and a
/// final `>` one or more. The bus stores nothing: data that must not be lost is in the event log of the
/// service that owns it.
///
/// Handlers and completions are called on a thread that the bus chooses. A bus over a network uses its event loop, and
/// the caller's own thread for a request that fails at once. The in-process bus uses the thread that publishes,
/// requests or replies, and a task for a deadline. Handlers and completions must not block, and may call the bus.
public protocol MessageBus: AnyObject, Sendable {
    /// Sends events to everyone subscribed to their subject.
    ///
    /// Events from one publisher on one subject arrive in the order they were sent. Delivery is at most once: a
    /// subscriber that is down, or too far behind, misses an event and recovers from the event log. While this bus
    /// is disconnected, its events reach nobody. They are counted, and reported as sent. Never waits for a
    /// subscriber.
    ///
    /// - Returns: for each event, in order, nil or the reason of its refusal: `badSubject`; `lineTooLong` if
    ///   its encoded line is over `BusLimits.maxPassedOnLine`; `slowConsumer` if more bytes than the limit
    ///   wait to be sent.
    func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?]

    /// Calls the handler for each event whose subject matches the pattern, in order.
    ///
    /// Subscriptions that name the same queue share the events: each event goes to one of them. A
    /// subscription lasts until `cancel()`, across reconnects; releasing the result does not end it. Requests
    /// never arrive here.
    ///
    /// - Throws: `badSubject`.
    @discardableResult
    func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription

    /// Serves requests: each goes to one member of the queue group, which must `reply` once.
    ///
    /// If several groups match a subject, one serves it: the first that subscribed. With NATS it may be any of them.
    ///
    /// - Throws: `badSubject`.
    @discardableResult
    func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription

    /// Sends a request to the service that serves the subject, and calls the completion exactly once: with the reply,
    /// or with the reason why there is none. The completion may be called before this returns. The reply is the
    /// responder's own value if the responder is in this process, otherwise its JSON.
    ///
    /// `noResponders` and `disconnected` are reported at once, `deadlineExceeded` after the context's timeout.
    /// NATS does not report that a responder disconnected: there the request ends with `deadlineExceeded`. After
    /// `disconnected` and `deadlineExceeded` the request may have been performed or not.
    func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void)

    /// True if requests with the same key go to one instance of a service, in order. Otherwise a caller that
    /// needs an order has to wait for each reply.
    var hasKeyAffinity: Bool { get }

    /// True if requests can be sent. The in-process bus is connected until it is closed.
    var isConnected: Bool { get }

    /// Calls the handler with each later change, in order. Before `connected` is reported, the subscriptions have been
    /// queued again, and later requests are sent after them. So missed events can be fetched from then on. `close()`
    /// is not reported as a change.
    @discardableResult
    func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription

    /// Returns once all earlier calls have reached the bus: subscriptions are active, events are on their
    /// way.
    ///
    /// - Throws: `disconnected` if that cannot be known; `refused` if the bus has refused a `respond`, as with
    ///   the token of another service. NATS does not report that.
    func flush() async throws(BusError)

    /// Drains: accepts no more requests, waits for those in progress in either direction (each ends by its
    /// deadline), sends what is queued, disconnects. Afterwards requests fail with `disconnected` and events
    /// are dropped. A second call waits with the first.
    func close() async
}

extension MessageBus {
    /// Sends one event, or throws the reason of its refusal.
    public func publish(_ subject: String, _ payload: any BusPayload) throws(BusError) {
        if let refusal = publish(subject, all: [payload])[0] { throw refusal }
    }

    /// Sends a request and waits for the reply. Cancelling the task does not shorten the wait, which ends by
    /// the deadline.
    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext
    ) async throws(BusError) -> any BusPayload {
        let result: Result<any BusPayload, BusError> = await withCheckedContinuation { continuation in
            request(subject, data, context) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        try subscribe(pattern, queue: nil, handler)
    }
}

public enum BusState: Sendable {
    case connected, disconnected
}

/// A subscription, which is active until it is cancelled; releasing it has no effect.
public final class BusSubscription: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    package init(end: @escaping @Sendable () -> Void) {
        self.end = Mutex(end)
    }

    /// Ends the subscription. A handler that is running on another thread may still finish. Cancelling again
    /// does nothing.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
