import HTTP
import Reactor

/// A request whose head has come, or all of it: counted for its client, and sent to whoever serves its path.
struct IncomingRequest {
    let request: HTTPRequest
    let connection: HTTPConnection
    /// The connection's number for it.
    let exchange: Int
    /// nil: a plain request's path.
    let endpoint: ServedEndpoint?

    private var edge: EdgeLoop { connection.edge }
    private var client: IPAddress { connection.client(of: request) }

    /// Counts a request, once, whatever comes of it.
    ///
    /// - Returns: false if its client has asked too often, and was answered that.
    func isAdmitted() -> Bool {
        edge.counters.requests.add(1)
        // A balancer takes a gateway whose health checks are refused for one that is down, and cuts off all who are on it.
        if edge.configuration.isProxysOwn(request, from: connection.channel.peer.ip) { return true }
        guard let wait = edge.delegate.secondsToWait(of: client) else { return true }
        connection.endKeepAlive(exchange)
        connection.fail(
            exchange, status: 429, reason: "there are too many requests from this address",
            headers: [("Retry-After", String(wait))])
        return false
    }

    /// It has come whole.
    func serve() {
        if let endpoint {
            EndpointRequest(request: request, endpoint: endpoint, connection: connection, exchange: exchange).serve()
        } else if AllowedOrigins.isPreflight(request), edge.configuration.isShared(request.path) {
            connection.answer(exchange, with: AllowedOrigins.preflight(of: request))
        } else {
            edge.delegate.respond(to: request, from: client, using: connection.responder(exchange))
        }
    }

    /// Its body is larger than what anyone may send: takes it, or refuses it.
    func askForBody() {
        let response: HTTPResponse?
        if let endpoint {
            let asked = EndpointRequest(
                request: request, endpoint: endpoint, connection: connection, exchange: exchange)
            // Who has connected is seen where the session is.
            if let loop = asked.sessionLoop, loop != edge.loop.index {
                return edge.move(connection, with: request, isWhole: false, to: loop)
            }
            response =
                asked.mayHaveLargeBody
                ? nil
                : edge.delegate.response(
                    to: HTTPFailure(
                        status: 413, reason: "log in before sending so much", requestID: connection.requestID))
        } else {
            response = edge.delegate.refusal(ofLargeBody: request, from: client, requestID: connection.requestID)
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
    /// For the page that asked.
    let originFields: HTTPHeaders
    /// Of its head and body, which whoever answers holds.
    let bytes: Int
    /// The session that holds it as its GET.
    var poll: EngineConnection?

    /// The answer, in pieces.
    func encode(_ response: HTTPResponse, keepsAlive: Bool, date: String) -> some Sequence<[UInt8]> {
        var response = response
        response.headers.add(RequestID.header, requestID)
        response.headers.add(contentsOf: originFields)
        return response.encode(keepAlive: keepsAlive, headOnly: isHead, date: date)
    }
}
