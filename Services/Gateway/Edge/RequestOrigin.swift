import Contracts
import HTTP
import MessageBus
import Reactor
import SocketIO

/// What goes with a request through all that is done for it.
struct RequestOrigin: Sendable {
    /// The caller's `X-Request-Id`, or one made at the edge: in the log lines of every service.
    let id: String
    /// The caller's, if it takes part in one.
    let trace: TraceParent?
    /// By when it has to be answered, its event included.
    let deadline: LoopInstant

    var timeLeft: Duration { deadline - .now() }

    func context(for caller: Caller?, key: String? = nil, isQuestion: Bool = false) -> BusContext {
        BusContext(
            requestID: id, caller: caller?.json, timeout: timeLeft, key: key, trace: trace?.text,
            isQuestion: isQuestion)
    }
}

extension GatewayContext {
    /// Of a request that came just now.
    ///
    /// - Parameter trace: the header `traceparent`; of a socket's event, which has no headers, that member of its payload.
    func origin(_ id: String, trace: String? = nil) -> RequestOrigin {
        RequestOrigin(id: id, trace: trace.flatMap(TraceParent.init), deadline: .now() + settings.requestTimeout)
    }
}

extension Shard {
    func makeOrigin(of event: SocketIOEvent, by client: Client) -> RequestOrigin {
        lastEvent &+= 1
        return context.origin("\(client.id)-\(lastEvent)", trace: event.arguments.first?["traceparent"]?.string)
    }

    /// The last line of a request: it was answered, after its event had been sent to this loop's sockets.
    func note(_ position: StreamPosition?, _ subject: String, _ origin: RequestOrigin) {
        context.log.debug(
            "answered a client",
            [
                "request": origin.id, "trace": origin.trace?.traceID ?? "", "subject": subject,
                "stream": position?.stream ?? "", "seq": position?.seq ?? 0,
            ])
    }
}
