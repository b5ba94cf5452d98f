import Contracts
import HTTP

/// What the log lines of one request have in common, over all services.
struct RequestOrigin: Sendable {
    /// The caller's `X-Request-Id`, or one made at the edge.
    let id: String
    /// The caller's, if it takes part in one.
    var trace: TraceParent?
}

extension RequestOrigin {
    /// - Parameter id: what the edge took the request's id to be.
    init(of request: HTTPRequest, id: String) {
        self.init(id: id, trace: request.headers["traceparent"].flatMap(TraceParent.init))
    }
}

extension Shard {
    /// - Parameter trace: of a socket's event, a member of its payload: sockets have no headers.
    func makeOrigin(of client: Client, trace: String? = nil) -> RequestOrigin {
        lastEvent &+= 1
        return RequestOrigin(id: "\(client.id)-\(lastEvent)", trace: trace.flatMap(TraceParent.init))
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
