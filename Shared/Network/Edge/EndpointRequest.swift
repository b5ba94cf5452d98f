import ParlorHTTP
import ParlorSecurity
import ParlorSocketIO

/// A request to an endpoint: a handshake, a poll, a POST, or an upgrade to WebSocket.
struct EndpointRequest {
    let request: HTTPRequest
    let endpoint: ServedEndpoint
    let connection: HTTPConnection
    /// The connection's number for the request.
    let exchange: Int

    private var edge: EdgeLoop { connection.edge }

    func serve() {
        if request.method == "OPTIONS" {
            return connection.answer(exchange, with: AllowedOrigins.preflight(of: request))
        }
        do throws(EngineError) {
            try route()
        } catch {
            connection.answer(exchange, with: .engineError(error))
        }
    }

    /// Checks the request as the reference server does, in the same order, and serves it.
    private func route() throws(EngineError) {
        guard let query = request.queryItems else { throw .badRequest }
        let transport = query["transport"]
        guard transport == "polling" || transport == "websocket" else { throw .unknownTransport }
        let isUpgrade = request.headers.list("Upgrade", contains: "websocket")
        guard isUpgrade == (transport == "websocket") else { throw .badRequest }

        guard let sid = query["sid"], !sid.isEmpty else { return try openSession(query) }
        guard let loop = edge.loop(ofSession: sid) else { throw .unknownSession }
        if loop != edge.loop.index { return edge.move(connection, with: request, isWhole: true, to: loop) }
        guard let session = edge.session(sid, at: endpoint) else { throw .unknownSession }
        // A deadline that has passed counts, even if its timer would fire after this request.
        session.settleHeartbeat()
        if !session.isUnconnected { connection.note(session.standing) }

        if isUpgrade {
            guard session.engine.isOpen else { throw .unknownSession }
            guard let webSocket = openWebSocket() else { return }
            return session.attach(webSocket)
        }
        switch request.method {
        case "GET": session.poll(connection, exchange: exchange)
        case "POST" where request.body.count > session.maxMessageBytes:
            connection.fail(exchange, status: 413, reason: "the payload is too large")
        case "POST": session.post(request.body, on: connection, exchange: exchange)
        default: throw .badRequest
        }
    }

    private func openSession(_ query: HTTPQuery) throws(EngineError) {
        guard request.method == "GET" else { throw .badHandshakeMethod }
        let version = query["EIO"]
        guard version == "4" || (version == nil && endpoint.settings.takesMissingVersion) else {
            throw .unsupportedVersion
        }
        guard edge.configuration.allowedOrigins.mayOpenSocket(request) else { throw .forbidden }
        if edge.isDraining {
            return connection.fail(exchange, status: 503, reason: "the server is shutting down")
        }

        let handshake = SocketHandshake(of: request, query, from: connection.client(of: request))
        if endpoint.needsConnect {
            do throws(ClientUsage.Excess) {
                try edge.addUnconnectedSocket(of: handshake.client)
            } catch {
                return connection.fail(
                    exchange, status: error.status, reason: error.reason("sockets that have not connected"),
                    retryAfter: HTTPFailure.pauseWhenFull)
            }
        }
        if query["transport"] == "websocket" {
            guard let webSocket = openWebSocket() else {
                if endpoint.needsConnect { edge.usage.removeUnconnectedSocket(of: handshake.client.subscriber) }
                return
            }
            edge.makeSession(.webSocket, at: endpoint, handshake: handshake).start(on: webSocket)
        } else {
            edge.makeSession(.polling, at: endpoint, handshake: handshake).start(on: connection, exchange: exchange)
        }
    }

    private func openWebSocket() -> WebSocketConnection? {
        .open(for: request, on: connection, exchange: exchange, maxMessageBytes: endpoint.settings.maxMessageBytes)
    }

    /// The index of the loop of the session that the request names, if it names one.
    var sessionLoop: Int? { request.queryItems?["sid"].flatMap(edge.loop(ofSession:)) }

    /// True if the body of a POST may be larger than `HTTPLimits.maxUnaskedBodyBytes`. A connected client may
    /// send as much as the engine allows, any other client up to `maxUnconnectedMessageBytes`. To be read on
    /// the session's loop.
    var mayHaveLargeBody: Bool {
        guard let session = edge.session(of: request, at: endpoint) else { return false }
        if !session.isUnconnected { return true }
        let length = request.headers["Content-Length"].flatMap { Int($0) } ?? .max
        return length <= edge.configuration.limits.maxUnconnectedMessageBytes
    }
}

extension HTTPResponse {
    static func engineError(_ error: EngineError) -> HTTPResponse {
        HTTPResponse(
            status: error == .forbidden ? 403 : 400,
            headers: ["Content-Type": "application/json", "X-Content-Type-Options": "nosniff"],
            body: error.json)
    }

    static func enginePayload(_ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/plain; charset=UTF-8", "Cache-Control": "no-store",
                // The body contains text that others wrote.
                "X-Content-Type-Options": "nosniff",
            ], body: body)
    }
}

/// The id of an Engine.IO session: `INSTANCE.LOOP.RANDOM`, without the first part if the instance has no
/// name. It names the session's loop; the random part keeps others from guessing it.
struct SessionID {
    let text: String
    let loop: Int

    init(instance: String, loop: Int, randomness: any Randomness) {
        self.loop = loop
        let parts = [instance, String(loop), Base64URL.encode(randomness.bytes(15))]
        text = parts.filter { !$0.isEmpty }.joined(separator: ".")
    }

    /// Parses an id; nil if it is not one of this instance's.
    init?(_ text: String, instance: String, loopCount: Int) {
        var parts = text.split(separator: ".", omittingEmptySubsequences: false)
        if !instance.isEmpty, parts.removeFirst() != instance { return nil }
        guard parts.count == 2, parts[0].utf8.count <= 4, let loop = Int(parts[0]), (0..<loopCount).contains(loop)
        else {
            return nil
        }
        self.text = text
        self.loop = loop
    }
}
