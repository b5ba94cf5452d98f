import ParlorHTTP
import ParlorReactor

/// A request whose head has arrived; its body may still be arriving. It is counted for its client and passed to the
/// code that serves its path.
struct IncomingRequest {
    let request: HTTPRequest
    let connection: HTTPConnection
    /// The connection's number for the request.
    let exchange: Int
    /// The endpoint at its path, or nil for a plain request.
    let endpoint: ServedEndpoint?

    private var edge: EdgeLoop { connection.edge }
    private var client: IPAddress { connection.client(of: request) }

    /// Counts a request, once, whatever its outcome.
    ///
    /// - Returns: false if its client exceeded its rate; it has been answered then.
    func isAdmitted() -> Bool {
        edge.counters.requests.add(1)
        // A balancer treats a gateway whose health checks are refused as down, and disconnects everyone on
        // it.
        if edge.configuration.isProxysOwn(request, from: connection.channel.peer.ip) { return true }
        guard let wait = edge.requests.secondsToWait(of: client) else { return true }
        connection.endKeepAlive(exchange)
        connection.fail(
            exchange, status: 429, reason: "there are too many requests from this address",
            retryAfter: wait)
        return false
    }

    /// Serves the request, which has arrived completely.
    func serve() {
        if let endpoint {
            EndpointRequest(request: request, endpoint: endpoint, connection: connection, exchange: exchange).serve()
        } else if AllowedOrigins.isPreflight(request), edge.configuration.isShared(request.path) {
            connection.answer(exchange, with: AllowedOrigins.preflight(of: request))
        } else {
            edge.requests.respond(to: request, from: client, using: connection.responder(exchange))
        }
    }

    /// Takes or refuses a body that is larger than `HTTPLimits.maxUnaskedBodyBytes`.
    func askForBody() {
        let response: HTTPResponse?
        if let endpoint {
            let asked = EndpointRequest(
                request: request, endpoint: endpoint, connection: connection, exchange: exchange)
            // Whether the client has connected is known on the session's loop.
            if let loop = asked.sessionLoop, loop != edge.loop.index {
                return edge.move(connection, with: request, isWhole: false, to: loop)
            }
            response =
                asked.mayHaveLargeBody
                ? nil
                : edge.requests.response(
                    to: HTTPFailure(
                        status: 413, reason: "log in before sending so much", requestID: connection.requestID))
        } else {
            response = edge.requests.refusal(ofLargeBody: request, from: client, requestID: connection.requestID)
        }
        if let response {
            connection.refuseBody(exchange, with: response)
        } else {
            connection.takeBody(exchange)
        }
    }
}

/// A request that is being answered, as its connection knows it.
struct HTTPExchange {
    let id: Int
    let requestID: String
    var keepsAlive: Bool
    let isHead: Bool
    /// The CORS headers for the page that asked.
    let originFields: HTTPHeaders
    /// The size of its head and body, while the code that answers holds them.
    var bytes: Int
    /// The session that holds this request as its GET.
    var poll: EngineConnection?

    /// Encodes the response, in pieces.
    func encode(_ response: HTTPResponse, keepsAlive: Bool, date: String) -> some Sequence<[UInt8]> {
        var response = response
        response.headers.add(RequestID.header, requestID)
        response.headers.add(contentsOf: originFields)
        return response.encode(keepAlive: keepsAlive, headOnly: isHead, date: date)
    }
}
