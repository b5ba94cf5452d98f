import JSON
import Synchronization

/// Connects services: events go to all subscribers, requests to one instance of the service that
/// serves them.
///
/// A subject is dotted lower-case tokens (`rooms.renamed`). In a pattern `*` stands for one token
/// and a final `>` for one or more. The bus stores nothing: what must not be lost is in the event
/// log of the service that owns it.
///
/// Handlers and completions are called on a thread that the bus chooses: the event loop of a bus
/// over a network, the caller's own thread on the in-process bus. They must not block, and may call
/// the bus.
public protocol MessageBus: AnyObject, Sendable {
    /// Sends events to everyone subscribed to their subject.
    ///
    /// Events from one publisher on one subject arrive in the order they were sent. Delivery is at most once: a
    /// subscriber that is away, or too far behind, misses it and recovers from the event log. So does everyone while
    /// this bus is disconnected; that is counted, and no error. Never waits for a subscriber.
    ///
    /// - Returns: for each, in their order, why it was refused: `badSubject`; `lineTooLong` if its encoded line is over
    ///   `BusLimits.maxPassedOnLine`; `slowConsumer` if more than the bound waits to be sent. Else nil.
    func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?]

    /// Calls the handler for each event whose subject the pattern matches, in order.
    ///
    /// Subscriptions that name the same queue share the events between them: each goes to one. It lasts until
    /// `cancel()`, over reconnects; dropping the result does not end it. Requests never arrive here.
    ///
    /// - Throws: `badSubject`.
    @discardableResult
    func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription

    /// Serves requests: each goes to one member of the queue group, which owes it one `reply`.
    ///
    /// If several groups match a subject, one serves it: the one that was there first, where the bus knows (NATS does not).
    ///
    /// - Throws: `badSubject`.
    @discardableResult
    func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription

    /// Sends a request to the service that serves the subject, and calls the completion exactly
    /// once: with the reply, or with the reason why there is none. It may be called before this
    /// returns. The reply is the responder's own value, if that is in this process; otherwise its
    /// JSON.
    ///
    /// `noResponders` and `disconnected` come at once, `deadlineExceeded` after the context's
    /// timeout. NATS does not report that a responder disconnected: there it is a
    /// `deadlineExceeded`. After `disconnected` and `deadlineExceeded` the request may have been
    /// carried out or not.
    func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void)

    /// True if requests with the same key go to one instance of a service, in their order. If not,
    /// a caller that needs an order waits for each reply.
    var hasKeyAffinity: Bool { get }

    /// True if requests can be sent. The in-process bus is connected until it is closed.
    var isConnected: Bool { get }

    /// Calls the handler with each later change, in order. At `connected` the subscriptions stand
    /// again, and later requests follow them: the moment to fetch what was missed. `close()` is no
    /// change.
    @discardableResult
    func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription

    /// Returns once all earlier calls have reached the bus: subscriptions stand, events are on
    /// their way.
    ///
    /// - Throws: `disconnected` if that cannot be known.
    func flush() async throws(BusError)

    /// Drains: takes no more requests, waits for those under way on either side (each ends by its deadline), sends
    /// what waits, disconnects. Afterwards requests fail with `disconnected` and events are dropped. A second call waits
    /// with the first.
    func close() async
}

extension MessageBus {
    /// Sends one event, or throws why it was refused.
    public func publish(_ subject: String, _ payload: any BusPayload) throws(BusError) {
        if let refusal = publish(subject, all: [payload])[0] { throw refusal }
    }

    /// Asks and waits for the reply. Cancelling the task does not shorten the wait: it ends by its deadline.
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

/// Stands until it is cancelled; dropping it changes nothing.
public final class BusSubscription: Sendable {
    private let end: Mutex<(@Sendable () -> Void)?>

    package init(end: @escaping @Sendable () -> Void) {
        self.end = Mutex(end)
    }

    /// Ends it. A call of the handler that is under way on another thread may still finish. Cancelling again does
    /// nothing.
    public func cancel() {
        let end = end.withLock { end in
            defer { end = nil }
            return end
        }
        end?()
    }
}
