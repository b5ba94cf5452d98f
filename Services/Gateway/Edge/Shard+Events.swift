import Contracts
import Edge
import JSON
import Reactor
import ServiceKit
import SocketIO

// Sockets: who connects, what they ask, and how they are answered.
extension Shard {
    // MARK: Connecting

    func connect(_ socket: Socket, auth: JSONValue?) {
        noteVisit()
        // Clients come back by themselves, and later each time.
        guard mayConnect(from: socket.handshake.client) else { return socket.closeTransport() }
        guard let claims = claims(of: socket, auth: auth) else {
            return socket.refuse(
                SocketIOPacket.mainNamespace,
                JSONWriter.object {
                    $0.member("message", "unauthorized")
                    $0.member("data", object: { $0.member("code", ErrorCode.unauthenticated.rawValue) })
                })
        }
        // A Room that lacks what a service adds to it would break clients; they come back, and find it there.
        guard context.directory.catalog.isWhole, !context.tokens.isTooEarly(for: claims) else {
            return socket.closeTransport()
        }
        guard mayConnect(claims.caller, from: socket.handshake.client) else { return socket.closeTransport() }
        let client = Client(
            socket, id: makeClientID(), caller: claims.caller, sessionID: claims.sessionID,
            address: socket.handshake.client, keepsOrder: context.bus.keepsKeysTogether)
        let left = Timestamp(milliseconds: claims.expiresAt * 1000).milliseconds - context.clock.now().milliseconds
        client.expiry = loop.schedule(after: .milliseconds(left)) { socket.closeTransport() }
        socket.context = client
        register(client)
        guard let since = auth?["since"], !since.isNull else {
            admit(client)
            return socket.accept()
        }
        client.isChangingRooms = true
        socket.accept()
        startTask { [client = LoopBound(client, to: loop)] in await $0.recover(client.object, since: since) }
    }

    /// The token of the CONNECT payload; else of the query; else of the Authorization field.
    private func claims(of socket: Socket, auth: JSONValue?) -> AccessClaims? {
        let handshake = socket.handshake
        if let given = auth?["token"], !given.isNull {
            return given.string.flatMap { context.tokens.verify($0) }
        }
        if let given = handshake.token { return context.tokens.verify(given) }
        return context.tokens.verify(authorization: handshake.authorization)
    }

    /// The client left the namespace, or its socket has closed.
    func disconnect(_ socket: Socket) {
        guard let client = socket.context as? Client else { return }
        socket.context = nil
        client.isConnected = false
        client.expiry?.cancel()
        unregister(client)
        audience.remove(client)
        let id = client.id
        startTask { await $0.context.presence.disconnect(socketID: id) }
    }

    // MARK: Events

    func receive(_ event: SocketIOEvent, on socket: Socket) {
        guard let client = socket.context as? Client else { return }
        client.life.noteEvent(at: loop.now)
        let request = SocketRequest(event: event, origin: makeOrigin(of: event, by: client))
        if client.waiting.isEmpty, client.mayStart(event) { return start(request, of: client) }
        // A person may have many sockets, so that all that wait count together, too.
        if !client.waiting.append(request) || !socket.noteHeld(bytes: client.waiting.bytes) {
            context.log.warning("a socket sends without waiting for answers", ["user": client.caller.id])
            client.waiting = WaitingEvents()
            socket.closeTransport()
        }
    }

    /// Goes on with what waited, also for a client that has left: what it sent before that counts.
    func resume(_ client: Client) {
        while let request = client.waiting.first, client.mayStart(request.event) {
            _ = client.waiting.popFirst()
            start(request, of: client)
        }
        // Less is always granted.
        _ = client.socket.noteHeld(bytes: client.waiting.bytes)
    }

    /// Events start in the order they came. Those that change what the socket has joined are done before the next starts;
    /// services keep the order of the others, room by room.
    private func start(_ request: SocketRequest, of client: Client) {
        switch request.event.name {
        case "room:join", "room:leave", "message:typing":
            // Before a task is made of it: a socket may send tens of thousands a second.
            let limit = limit(request.event.name == "message:typing" ? "typing" : "joins")
            do throws(ServiceError) {
                _ = try passLimits(limit, person: client.caller.id, address: client.address)
            } catch {
                return answer(request.event, of: client, since: .now(), .failure(error))
            }
            if request.event.name == "room:join" { noteVisit() }
            client.isChangingRooms = true
            startTask { [client = LoopBound(client, to: loop)] in await $0.changeRooms(request, of: client.object) }
        default: ask(request, of: client)
        }
    }

    private func changeRooms(_ request: SocketRequest, of client: Client) async {
        let began = LoopInstant.now()
        do throws(ServiceError) {
            let members = try await changeRooms(request.event, of: client, request.origin)
            answer(request.event, of: client, since: began, .success(members))
        } catch {
            answer(request.event, of: client, since: began, .failure(error))
        }
        client.isChangingRooms = false
        resume(client)
    }

    private func changeRooms(
        _ event: SocketIOEvent, of client: Client, _ origin: RequestOrigin
    ) async throws(ServiceError) -> JSONValue? {
        let fields = try Self.fields(of: event)
        switch event.name {
        case "room:join": return try await join(fields, client, origin)
        case "room:leave": try await leave(fields, client, origin)
        default: try await setTyping(fields, client, origin)
        }
        return nil
    }

    /// An event that is not taken, whatever it is called.
    func refuse(_ event: SocketIOEvent, _ error: ServiceError, on socket: Socket) {
        guard let client = socket.context as? Client else { return fail(event, error, to: socket) }
        do throws(ServiceError) {
            _ = try passLimits(limit("unknown"), person: client.caller.id, address: client.address)
            fail(event, error, to: socket)
        } catch {
            fail(event, error, to: socket)
        }
    }

    static func payload(of event: SocketIOEvent) throws(ServiceError) -> JSONValue {
        guard let payload = event.arguments.first, payload.kind == .object else {
            throw ServiceError(.malformedRequest, "The event's payload has to be a JSON object.")
        }
        return payload
    }

    private static func fields(of event: SocketIOEvent) throws(ServiceError) -> RequestFields {
        try RequestFields(try payload(of: event))
    }

    // MARK: Answering

    /// Exactly one object: success with these members, or the failure.
    func answer(
        _ event: SocketIOEvent, of client: Client, since began: LoopInstant, _ outcome: Result<JSONValue?, ServiceError>
    ) {
        switch outcome {
        case .success(let members):
            guard client.isConnected, let id = event.ackID else { break }
            client.socket.ack(
                id,
                JSONWriter.object(reservingCapacity: (members?.bytes.count ?? 0) + 32) {
                    $0.member("success", true)
                    if let members { $0.members(of: members) }
                })
        case .failure(let error):
            if error.code.isRetryable, error.code != .rateLimited { context.measured.failedAcks.add() }
            if client.isConnected { fail(event, error, to: client.socket) }
        }
        context.measured.acks.observe(.now() - began)
    }

    /// In the ack if one is wanted, else as `request:error`.
    func fail(_ event: SocketIOEvent, _ error: ServiceError, to socket: Socket) {
        context.measured.note(error)
        if let id = event.ackID {
            socket.ack(
                id,
                JSONWriter.object {
                    $0.member("success", false)
                    Self.write(error, withRetry: true, to: &$0)
                })
        } else {
            Self.report(error, of: event.name, to: socket)
        }
    }

    /// As `request:error`.
    static func report(_ error: ServiceError, of event: String, to socket: Socket) {
        socket.emit(
            "request:error",
            JSONWriter.object {
                $0.member("event", event)
                write(error, withRetry: false, to: &$0)
            })
    }

    private static func write(_ error: ServiceError, withRetry: Bool, to json: inout JSONWriter) {
        json.member(
            "error",
            object: {
                $0.member("code", error.code.rawValue)
                $0.member("message", error.message)
                if withRetry { $0.member("retryable", error.code.isRetryable) }
            })
    }
}
