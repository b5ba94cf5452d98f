import Contracts
import Delivery
import Edge
import GatewayCatalog
import GatewayLimits
import GatewayPresence
import JSON
import Reactor
import RoomViews
import ServiceKit
import SocketIO

/// Serves the sockets of one loop: their connections, their requests, and the answers.
package actor SocketFront: LoopPart {
    /// The number of waiting events that one socket continues with in a turn.
    private static let maxResumedPerTurn = 64

    package nonisolated let loop: EventLoop
    package nonisolated let delivery: LoopDelivery
    private let directory: Directory
    private let services: RequestForwarder
    private let checks: RequestChecks
    private let limits: Limits
    private let tokens: TokenVerifier
    private let presence: Presence
    private let joins: RoomJoins
    private let personSockets: PersonSockets
    private let answers: EventAnswers
    private let metrics: EdgeMetrics
    private let clock: any WallClock
    private let log: Logger

    private var sessions = SessionTable()
    private var lastSession = 0
    /// Numbers the events of this loop's sockets, for the request ids in logs.
    private var lastEvent = 0

    package init(
        _ delivery: LoopDelivery, directory: Directory, services: RequestForwarder, checks: RequestChecks,
        admission: Admission, presence: Presence, joins: RoomJoins, personSockets: PersonSockets,
        metrics: EdgeMetrics, clock: any WallClock, log: Logger
    ) {
        loop = delivery.loop
        self.delivery = delivery
        self.directory = directory
        self.services = services
        self.checks = checks
        limits = admission.limits
        tokens = admission.tokens
        self.presence = presence
        self.joins = joins
        self.personSockets = personSockets
        answers = EventAnswers(metrics: metrics, log: log)
        self.metrics = metrics
        self.clock = clock
        self.log = log
    }

    // MARK: Connecting

    func connect(_ socket: Socket, auth: JSONValue?) {
        delivery.onLoop { $0.noteVisit() }
        let address = socket.handshake.client
        // Clients reconnect by themselves, with growing delays.
        guard limits.mayConnect(from: address) else { return socket.closeTransport() }
        guard let claims = tokens.verify(socket.handshake, auth: auth) else {
            return socket.refuse(
                SocketIOPacket.mainNamespace,
                JSONWriter.object {
                    $0.member("message", "unauthorized")
                    $0.member("data", object: { $0.member("code", ErrorCode.unauthenticated.rawValue) })
                })
        }
        // A Room without a service's fields would break clients. They reconnect, and then the fields are there.
        guard directory.catalog.isWhole, !tokens.isTooEarly(for: claims),
            limits.mayConnect(claims.caller.id, from: address)
        else { return socket.closeTransport() }
        lastSession += 1
        let session = SocketSession(
            socket, id: "\(loop.index).\(lastSession)", caller: claims.caller, sessionID: claims.sessionID,
            keepsOrder: services.bus.hasKeyAffinity, on: loop)
        let left = Timestamp(milliseconds: claims.expiresAt * 1000).milliseconds - clock.now().milliseconds
        session.expiry = loop.schedule(after: .milliseconds(left)) { socket.closeTransport() }
        (socket.context, socket.person) = (session, claims.caller.id)
        register(session)
        let subscriber = session.subscriber
        guard let since = auth?["since"], !since.isNull else {
            delivery.onLoop { $0.admit(subscriber) }
            return socket.accept()
        }
        session.isChangingRooms = true
        socket.accept()
        startTask { [session = LoopBound(session, to: loop)] front in
            await front.delivery.recover(subscriber, since: since, from: address)
            session.object.isChangingRooms = false
            front.resume(session.object)
        }
    }

    /// Handles the end of a socket: its client has left the namespace, or the connection has closed.
    func disconnect(_ socket: Socket) {
        guard let session = socket.context as? SocketSession else { return }
        socket.context = nil
        let (id, subscriber) = (session.id, session.subscriber)
        subscriber.object.isConnected = false
        session.expiry?.cancel()
        sessions.remove(session)
        personSockets.remove(id, of: session.caller.id)
        delivery.onLoop { $0.remove(subscriber) }
        startTask { await $0.presence.disconnect(socketID: id) }
    }

    func notePing(on socket: Socket) {
        guard let session = socket.context as? SocketSession else { return }
        delivery.onLoop { [subscriber = session.subscriber] in $0.notePing(to: subscriber) }
    }

    func noteAnsweredPing(on socket: Socket) {
        guard let session = socket.context as? SocketSession else { return }
        session.subscriber.object.liveness.noteAnswer(at: loop.now)
    }

    // MARK: Ending sockets

    private func register(_ session: SocketSession) {
        sessions.add(session)
        let entry = PersonSockets.Entry(front: self, socketID: session.id)
        guard let oldest = personSockets.add(entry, of: session.caller.id) else { return }
        log.debug("a person has too many sockets: the oldest ends", ["user": session.caller.id])
        // Enqueue this even if the oldest socket is on this loop: the new socket has to be connected first.
        oldest.front.enqueue { $0.replace(oldest.socketID) }
    }

    /// Disconnects with DISCONNECT, after which clients do not reconnect. One that did would disconnect the next
    /// oldest.
    private func replace(_ id: String) {
        guard let session = sessions[id] else { return }
        metrics.replacedSockets.add()
        EventAnswers.report(
            ServiceError(.rateLimited, "You have more than \(personSockets.limit) connections: the oldest ends."),
            of: "connect", to: session.socket)
        session.socket.disconnect()
    }

    /// Ends the sockets of these sessions, whose tokens are refused by now, so that none reconnects. Their
    /// waiting events are dropped, and held ones refused.
    package func endSessions(_ ids: [String]) {
        for id in ids {
            for session in sessions.ofSession(id) {
                metrics.endedSockets.add()
                dropWaiting(of: session)
                session.isEnded = true
                session.socket.disconnect()
            }
        }
    }

    // MARK: Order of events

    /// Returns whether to receive a large event. The event is refused before it is read if it would exceed a limit. Only
    /// a refused event is counted here. Others are counted when they start, so that events count in their order.
    func takes(_ event: SocketIOEvent, ofBytes bytes: Int, on socket: Socket) -> Bool {
        guard let session = socket.context as? SocketSession else { return true }
        let catalog = directory.catalog
        do throws(ServiceError) {
            guard let declared = catalog.socketEvents[event.name] else { throw try refusal(ofLarge: event, session) }
            try limits.check(
                Limits.of(declared.declaration, catalog), person: session.caller.id, address: session.address,
                writing: bytes)
            // Check that there will be room for it. It is counted once it is read.
            if let refusal = socket.noteHeld(change: bytes) { throw limits.noRoom(isOwn: refusal == .own) }
            socket.noteHeld(change: -bytes)
            return true
        } catch {
            session.subscriber.object.liveness.noteEvent(at: loop.now)
            answers.fail(event, error, to: socket)
            return false
        }
    }

    /// Returns the refusal of a large event. The gateway's own events are short, and an undeclared event is
    /// refused whatever it contains.
    private func refusal(ofLarge event: SocketIOEvent, _ session: SocketSession) throws(ServiceError) -> ServiceError {
        let limit = OwnLimits.ofEvent(event.name)
        if limit == OwnLimits.unknown { return try refusal(ofUndeclared: session) }
        try limits.pass([limit], person: session.caller.id, address: session.address)
        return ServiceError(.payloadTooLarge, "This event is longer than any of its kind.")
    }

    private func refusal(ofUndeclared session: SocketSession) throws(ServiceError) -> ServiceError {
        // It may be the event of a service that has not announced itself yet.
        guard directory.catalog.isWhole else { return .unavailable("This part of the service") }
        try limits.pass([OwnLimits.unknown], person: session.caller.id, address: session.address)
        return ServiceError(.malformedRequest, "There is no event of this name.")
    }

    func receive(_ event: SocketIOEvent, ofBytes bytes: Int, on socket: Socket) {
        guard let session = socket.context as? SocketSession else { return }
        session.subscriber.object.liveness.noteEvent(at: loop.now)
        lastEvent &+= 1
        let origin = services.origin(
            "\(session.id)-\(lastEvent)", trace: event.arguments.first?["traceparent"]?.string)
        let request = SocketRequest(event, ofBytes: bytes, origin: origin)
        // A person may have many sockets, so the waiting and running events of all of them also count
        // together.
        if let refusal = socket.noteHeld(change: request.size) {
            return answers.fail(event, limits.noRoom(isOwn: refusal == .own), to: socket, request: origin.id)
        }
        if session.waiting.isEmpty, session.mayStart(event) { return start(request, of: session) }
        if session.waiting.append(request) { return }
        noteEnd(of: request, session)
        log.warning("a socket sends without waiting for answers", ["user": session.caller.id])
        dropWaiting(of: session)
        socket.closeTransport()
    }

    /// Releases the memory of an event that is answered, or dropped.
    private func noteEnd(of request: SocketRequest, _ session: SocketSession) {
        session.socket.noteHeld(change: -request.size)
    }

    private func dropWaiting(of session: SocketSession) {
        session.socket.noteHeld(change: -session.waiting.bytes)
        session.waiting = WaitingEvents()
    }

    /// Continues with the waiting events, even of a client that has left: what it sent before still counts.
    private func resume(_ session: SocketSession) {
        if session.isResuming { return }
        for _ in 0..<Self.maxResumedPerTurn {
            guard let request = session.waiting.first, session.mayStart(request.event) else { return }
            _ = session.waiting.popFirst()
            start(request, of: session)
        }
        // Those that are refused at once may be thousands.
        session.isResuming = true
        loop.inNextTurn { [self] in
            session.isResuming = false
            resume(session)
        }
    }

    /// Starts an event. Events start in order. Those that change the socket's rooms are finished before the
    /// next one starts; services keep the order of the others, room by room.
    private func start(_ request: SocketRequest, of session: SocketSession) {
        switch request.event.name {
        case "room:join", "room:leave", "message:typing":
            // Check before a task is created: a socket may send tens of thousands a second.
            do throws(ServiceError) {
                try limits.pass(
                    [OwnLimits.ofEvent(request.event.name)], person: session.caller.id, address: session.address)
            } catch {
                noteEnd(of: request, session)
                return answers.answer(request, of: session, since: .now(), .failure(error))
            }
            if request.event.name == "room:join" { delivery.onLoop { $0.noteVisit() } }
            session.isChangingRooms = true
            startTask { [session = LoopBound(session, to: loop)] in await $0.changeRooms(request, of: session.object) }
        default: ask(request, of: session)
        }
    }

    private func changeRooms(_ request: SocketRequest, of session: SocketSession) async {
        let began = LoopInstant.now()
        let outcome: Result<JSONValue?, ServiceError>
        do throws(ServiceError) {
            outcome = .success(try await joins.change(request, of: session, on: self))
        } catch {
            outcome = .failure(error)
        }
        // Release the event's bytes first, so that the answer may use them.
        noteEnd(of: request, session)
        answers.answer(request, of: session, since: began, outcome)
        session.isChangingRooms = false
        resume(session)
    }

    /// Answers an event that is refused, whatever its name.
    func refuse(_ event: SocketIOEvent, ofBytes bytes: Int, _ error: ServiceError, on socket: Socket) {
        guard let session = socket.context as? SocketSession else { return answers.fail(event, error, to: socket) }
        do throws(ServiceError) {
            let catalog = directory.catalog
            let declared = catalog.socketEvents[event.name].map { Limits.of($0.declaration, catalog) }
            // It was read, so its bytes count like those of an accepted event.
            try limits.pass(
                (declared ?? []) + [OwnLimits.unknown], person: session.caller.id, address: session.address,
                writing: bytes)
            answers.fail(event, error, to: socket)
        } catch {
            answers.fail(event, error, to: socket)
        }
    }

    // MARK: Declared events

    /// Sends the request to the service that declared the event. The ack follows the fan-out of the resulting event.
    private func ask(_ request: SocketRequest, of session: SocketSession) {
        let began = LoopInstant.now()
        session.begin(request)
        delivery.beginWork()
        do throws(ServiceError) {
            let catalog = directory.catalog
            guard let offered = catalog.socketEvents[request.event.name] else {
                throw try refusal(ofUndeclared: session)
            }
            let declared = offered.declaration
            let pass = try limits.pass(
                Limits.of(declared, catalog), person: session.caller.id, address: session.address,
                writing: request.writtenBytes)
            let event = ServiceEvent(request, of: session, since: began, declared, pass, try request.payload)
            if offered.checks.isEmpty, !session.held.holds(event.roomID) {
                forward(event)
            } else {
                hold(event, until: offered.checks)
            }
        } catch {
            // Not within this call: finishing an event starts the next one. If each failed at once, the calls would nest
            // without limit.
            enqueue { [session = LoopBound(session, to: loop)] in
                $0.finish(request, of: session.object, since: began, .failure(error))
            }
        }
    }

    /// Holds an event, and those that follow in its room, until its checks are answered. Several events may be
    /// checked at once.
    private func hold(_ event: ServiceEvent, until required: [ServiceCheck]) {
        event.session.held.append(event)
        guard !required.isEmpty else { return }
        event.isBeingChecked = true
        let bound = LoopBound(event, to: loop)
        checks.ask(
            required, event.data, as: event.session.caller, origin: event.request.origin, key: event.roomID
        ) { [self] denial in enqueue { $0.release(bound.object, denial) } }
    }

    private func release(_ event: ServiceEvent, _ denial: ServiceError?) {
        event.isBeingChecked = false
        event.denial = denial
        let session = event.session
        // Take one at a time: when an event ends, waiting ones start, and they may join the held events of this room.
        while let next = session.held.popChecked(in: event.roomID) {
            if let denial = session.isEnded ? ServiceError(.unauthenticated, "Log in first.") : next.denial {
                receive(.failure(denial), for: LoopBound(next, to: loop))
            } else {
                forward(next)
            }
        }
        resume(session)  // a leave may have waited for them
    }

    private func forward(_ event: ServiceEvent) {
        let bound = LoopBound(event, to: loop)
        services.send(
            event.declared.subject, event.data, as: event.session.caller, origin: event.request.origin,
            key: event.roomID
        ) { [self] result in
            // Do not finish it within the call that sends it: its end starts waiting events. If those ended at once as
            // well, the calls would nest without limit.
            if loop.isCurrent, bound.object.isSent {
                onLoop { $0.receive(result, for: bound) }
            } else {
                enqueue { $0.receive(result, for: bound) }
            }
        }
        event.isSent = true
    }

    private func receive(_ result: Result<Reply, ServiceError>, for bound: LoopBound<ServiceEvent>) {
        let event = bound.object
        switch result {
        case .failure(let error):
            limits.settle(event.pass, error)
            finish(event.request, of: event.session, since: event.began, .failure(error))
        case .success(let reply):
            limits.settle(event.pass, nil)
            if reply.isDuplicate { limits.giveBackBytes(event.pass) }
            let deadline = event.request.origin.deadline
            let answer: @Sendable () -> Void = { [self] in
                onLoop {
                    let (event, request) = (bound.object, bound.object.request)
                    $0.log.noteAnswer(reply.position, event.declared.subject, request.origin)
                    $0.finish(request, of: event.session, since: event.began, .success(event.members(of: reply)))
                }
            }
            delivery.onLoop { $0.afterFanout(of: reply.position, by: deadline, answer) }
        }
    }

    private func finish(
        _ request: SocketRequest, of session: SocketSession, since began: LoopInstant,
        _ outcome: Result<JSONValue?, ServiceError>
    ) {
        noteEnd(of: request, session)
        answers.answer(request, of: session, since: began, outcome)
        session.end(request)
        resume(session)
        delivery.endWork()
    }
}
