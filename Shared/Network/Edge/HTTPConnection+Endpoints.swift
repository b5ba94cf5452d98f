import HTTP
import Reactor
import SocketIO
import WebSocket

/// Requests to an endpoint: handshakes, polls, and upgrades to WebSocket.
extension HTTPConnection {
    func serve(_ request: HTTPRequest, at endpoint: ServedEndpoint, exchange id: Int) {
        if request.method == "OPTIONS" { return answer(id, with: .preflight(of: request)) }
        guard endpoint.engine != nil else { return serveWebSocket(request, at: endpoint, exchange: id) }
        do throws(EngineError) {
            try serveEngine(request, at: endpoint, exchange: id)
        } catch {
            answer(id, with: .engineError(error))
        }
    }

    private func serveWebSocket(_ request: HTTPRequest, at endpoint: ServedEndpoint, exchange id: Int) {
        if edge.isDraining { return fail(id, status: 503, reason: "the server is shutting down") }
        openWebSocket(request, at: endpoint, exchange: id)?.start()
    }

    /// The checks are the reference server's, in its order.
    private func serveEngine(
        _ request: HTTPRequest, at endpoint: ServedEndpoint, exchange id: Int
    ) throws(EngineError) {
        guard let query = request.queryItems else { throw .badRequest }
        let transport = query["transport"]
        guard transport == "polling" || transport == "websocket" else { throw .unknownTransport }
        let isUpgrade = request.headers.list("Upgrade", contains: "websocket")
        guard isUpgrade == (transport == "websocket") else { throw .badRequest }

        guard let sid = query["sid"], !sid.isEmpty else {
            return try openSession(request, query, at: endpoint, exchange: id)
        }
        guard let loop = self.loop(ofSession: sid) else { throw .unknownSession }
        if loop != edge.loop.index { return edge.move(self, with: request, isWhole: true, to: loop) }
        guard let session = edge.session(sid, at: endpoint) else { throw .unknownSession }
        // A deadline that has passed counts, also when its timer's turn comes after this request's.
        session.settleHeartbeat()
        if !session.isPending { noteConnected() }

        if isUpgrade {
            guard session.engine.isOpen else { throw .unknownSession }
            guard let webSocket = openWebSocket(request, at: endpoint, exchange: id) else { return }
            return session.attach(webSocket)
        }
        switch request.method {
        case "GET": session.poll(self, exchange: id)
        case "POST" where request.body.count > session.maxMessageBytes:
            fail(id, status: 413, reason: "the payload is too large")
        case "POST": session.post(request.body, on: self, exchange: id)
        default: throw .badRequest
        }
    }

    private func openSession(
        _ request: HTTPRequest, _ query: HTTPQuery, at endpoint: ServedEndpoint, exchange id: Int
    ) throws(EngineError) {
        guard request.method == "GET" else { throw .badHandshakeMethod }
        let version = query["EIO"]
        guard version == "4" || (version == nil && endpoint.settings.takesMissingVersion) else {
            throw .unsupportedVersion
        }
        guard let engine = endpoint.engine else { throw .badRequest }
        if edge.isDraining { return fail(id, status: 503, reason: "the server is shutting down") }

        let handshake = SocketHandshake(of: request, query, from: client(of: request))
        if endpoint.socketIO != nil {
            do throws(ClientUsage.Excess) {
                try edge.addPendingSocket(of: handshake.client)
            } catch {
                return fail(
                    id, status: error.status, reason: error.reason("sockets that have not connected"),
                    headers: [("Retry-After", HTTPFailure.retryAfter)])
            }
        }
        if query["transport"] == "websocket" {
            guard let webSocket = openWebSocket(request, at: endpoint, exchange: id) else {
                if endpoint.socketIO != nil { edge.usage.removePendingSocket(of: handshake.client.subscriber) }
                return
            }
            edge.makeSession(.webSocket, at: endpoint, configuration: engine, handshake: handshake).start(on: webSocket)
        } else {
            edge.makeSession(.polling, at: endpoint, configuration: engine, handshake: handshake)
                .start(on: self, exchange: id)
        }
    }

    /// nil for what is no session's id, or another instance's.
    private func loop(ofSession sid: String) -> Int? {
        SessionID(sid, instance: edge.configuration.instance, loopCount: edge.all.count)?.loop
    }

    /// On which loop the session is that a request names, if it is there.
    func sessionLoop(of request: HTTPRequest) -> Int? { request.queryItems?["sid"].flatMap(loop(ofSession:)) }

    private func session(of request: HTTPRequest, at endpoint: ServedEndpoint) -> EngineConnection? {
        request.queryItems?["sid"].flatMap { edge.session($0, at: endpoint) }
    }

    /// Whether a request is one of a socket that has connected.
    func isConnected(_ request: HTTPRequest, at endpoint: ServedEndpoint) -> Bool {
        session(of: request, at: endpoint)?.isPending == false
    }

    /// Whether the body of a POST may be larger than `HTTPLimits.maxUnaskedBodyBytes`: of whoever has connected, as large as the engine says,
    /// and up to `maxPendingMessageBytes` of anyone. Asked on the session's loop.
    func mayHaveLargeBody(_ request: HTTPRequest, at endpoint: ServedEndpoint) -> Bool {
        guard let session = session(of: request, at: endpoint) else { return false }
        if !session.isPending { return true }
        let length = request.headers["Content-Length"].flatMap { Int($0) } ?? .max
        return length <= edge.configuration.limits.maxPendingMessageBytes
    }

    /// Answers 101, and puts a WebSocket in this connection's place. nil: the handshake is refused and answered, or the connection has closed.
    private func openWebSocket(
        _ request: HTTPRequest, at endpoint: ServedEndpoint, exchange id: Int
    ) -> WebSocketConnection? {
        guard channel.isOpen else { return nil }
        let client = client(of: request)
        do throws(WebSocketRefusal) {
            let response = try WebSocketHandshake.accept(
                method: request.method, isHTTP11: request.version == .http11,
                additionalHeaders: [(RequestID.header, requestID)], header: request.headers.all)
            guard countAsClients(client, exchange: id) else { return nil }
            return WebSocketConnection(
                channel, of: client, at: endpoint, received: upgrade(with: response), edge: edge)
        } catch {
            fail(id, status: error.status, reason: error.reason, headers: error.headers)
            return nil
        }
    }

    /// Counts a connection as its client's: behind a proxy only the request says whose it is.
    private func countAsClients(_ client: IPAddress, exchange id: Int) -> Bool {
        do throws(ClientUsage.Excess) {
            try edge.usage.moveConnection(from: countedAddress, to: client.subscriber)
            return true
        } catch {
            edge.counters.refusedConnections.note(error)
            fail(
                id, status: error.status, reason: error.reason("connections"),
                headers: [("Retry-After", HTTPFailure.retryAfter)])
            return false
        }
    }
}

extension HTTPResponse {
    static func engineError(_ error: EngineError) -> HTTPResponse {
        HTTPResponse(
            status: 400, headers: ["Content-Type": "application/json", "X-Content-Type-Options": "nosniff"],
            body: error.json)
    }

    static func enginePayload(_ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                "Content-Type": "text/plain; charset=UTF-8", "Cache-Control": "no-store",
                // What others wrote stands in it.
                "X-Content-Type-Options": "nosniff",
            ], body: body)
    }

    /// What a browser asks before a script of another origin may send its request (Fetch standard, section 3.2).
    fileprivate static func preflight(of request: HTTPRequest) -> HTTPResponse {
        var headers: HTTPHeaders = [
            "Access-Control-Allow-Methods": "GET, POST", "Access-Control-Max-Age": "86400",
            "Vary": "Access-Control-Request-Headers",
        ]
        if let asked = request.headers["Access-Control-Request-Headers"] {
            headers.add("Access-Control-Allow-Headers", asked)
        }
        return HTTPResponse(status: 204, headers: headers)
    }
}
