import Contracts
import MessageBus
import Reactor

/// The context of a request, in all that is done for it.
package struct RequestOrigin: Sendable {
    /// The caller's `X-Request-Id`, or one made at the edge: in the log lines of every service.
    package let id: String
    /// The caller's, if it takes part in one.
    package let trace: TraceParent?
    /// By when it has to be answered, its event included.
    package let deadline: LoopInstant

    package init(id: String, trace: TraceParent? = nil, deadline: LoopInstant) {
        self.id = id
        self.trace = trace
        self.deadline = deadline
    }

    package var timeLeft: Duration { deadline - .now() }

    package func context(for caller: Caller?, key: String? = nil, isQuestion: Bool = false) -> BusContext {
        BusContext(
            requestID: id, caller: caller?.json, timeout: timeLeft, key: key, trace: trace?.text,
            isQuestion: isQuestion)
    }
}
