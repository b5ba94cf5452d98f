import ParlorContracts
import ParlorMessageBus
import ParlorReactor

/// The origin of a request, which is passed on to all work for it.
package struct RequestOrigin: Sendable {
    /// The caller's `X-Request-Id`, or one made at the edge. It is in the log lines of every service.
    package let id: String
    /// The caller's trace context, if it has one.
    package let trace: TraceParent?
    /// The time by which the request must be answered, including its event's fan-out.
    package let deadline: LoopInstant

    package init(id: String, trace: TraceParent? = nil, deadline: LoopInstant) {
        self.id = id
        self.trace = trace
        self.deadline = deadline
    }

    package var timeLeft: Duration { deadline - .now() }

    /// Returns the origin with its deadline moved, if necessary, so that the time left is within these bounds.
    package func with(atLeast least: Duration, atMost most: Duration? = nil) -> RequestOrigin {
        let now = LoopInstant.now()
        let latest = most.map { min(deadline, now + $0) } ?? deadline
        return RequestOrigin(id: id, trace: trace, deadline: max(latest, now + least))
    }

    package func context(for caller: Caller?, key: String? = nil, isRepeatable: Bool = false) -> BusContext {
        BusContext(
            requestID: id, caller: caller?.json, timeout: timeLeft, key: key, trace: trace?.text,
            isRepeatable: isRepeatable)
    }
}
