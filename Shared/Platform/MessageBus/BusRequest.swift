import JSON
import Synchronization

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
