import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorJSON
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit
import ParlorSocketIO

/// Serves the events of one loop's sockets: their limits, their order, their requests to services, and their answers.
package actor EventFront: LoopPart {
    /// The number of waiting events that one socket continues with in a turn.
    private static let maxResumedPerTurn = 64

    package nonisolated let loop: EventLoop
    package nonisolated let delivery: LoopDelivery
    private let directory: Directory
    private let services: RequestForwarder
    private let checks: RequestChecks
    private let limits: Limits
    private let joins: RoomJoins
    private let composer: RoomComposer
    private let answers: EventAnswers
    private let log: Logger

    /// Numbers the events, for the request ids in logs.
    private var lastEvent = 0

    package init(
        _ delivery: LoopDelivery, directory: Directory, services: RequestForwarder, checks: RequestChecks,
        limits: Limits, joins: RoomJoins, composer: RoomComposer, metrics: EdgeMetrics, log: Logger
    ) {
        loop = delivery.loop
        self.delivery = delivery
        self.directory = directory
        self.services = services
        self.checks = checks
        self.limits = limits
        self.joins = joins
        self.composer = composer
        answers = EventAnswers(metrics: metrics, log: log)
        self.log = log
    }

    /// True if the requests of one socket cannot overtake each other on the bus.
    nonisolated var keepsOrder: Bool { services.bus.hasKeyAffinity }

    // MARK: Arriving

    /// Returns whether to receive a large event. The event is refused before it is read if it would exceed a limit. Only
    /// a refused event is counted here. Others are counted when they start, so that events count in their order.
    func takes(_ event: SocketIOEvent, ofBytes bytes: Int, on client: ClientSocket) -> Bool {
        do throws(ServiceError) {
            guard let declared = directory.catalog.socketEvents[event.name] else {
                throw try refusal(ofLarge: event, client)
            }
            try limits.check(
                declared.limits, person: client.caller.id, address: client.address, writing: bytes)
            // Check that there will be room for it. It is counted once it is read.
            if let refusal = client.socket.noteHeld(change: bytes) { throw limits.noRoom(isOwn: refusal == .own) }
            client.socket.noteHeld(change: -bytes)
            return true
        } catch {
            client.subscriber.object.liveness.noteEvent(at: loop.now)
            answers.fail(event, error, to: client.socket)
            return false
        }
    }

    /// Returns the refusal of a large event. The gateway's own events are short, and an undeclared event is
    /// refused whatever it contains.
    private func refusal(ofLarge event: SocketIOEvent, _ client: ClientSocket) throws(ServiceError) -> ServiceError {
        guard let own = OwnEvent(rawValue: event.name) else { return try refusal(ofUndeclared: client) }
        try limits.pass([own.limit], person: client.caller.id, address: client.address)
        return ServiceError(.payloadTooLarge, "This event is longer than any of its kind.")
    }

    private func refusal(ofUndeclared client: ClientSocket) throws(ServiceError) -> ServiceError {
        // It may be the event of a service that has not announced itself yet.
        guard directory.catalog.isWhole else { return .unavailable("This part of the service") }
        try limits.pass([OwnLimits.unknown], person: client.caller.id, address: client.address)
        return ServiceError(.malformedRequest, "There is no event of this name.")
    }

    /// Answers an event that is refused, whatever its name.
    func refuse(_ event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal, on socket: Socket) {
        let message =
            switch refusal {
            case .attachments: "Attachments are not taken here."
            case .depth: "The event's payload is nested too deeply."
            case .number: "The event has a number of more than 64 characters, or one beyond a double."
            case .text: "The event has text with half a surrogate pair, or with too many combining marks in a row."
            }
        var error = ServiceError(.malformedRequest, message)
        if let client = socket.context as? ClientSocket {
            let declared = directory.catalog.socketEvents[event.name]?.limits ?? []
            do throws(ServiceError) {
                // It was read, so its bytes count like those of an accepted event.
                try limits.pass(
                    declared + [OwnLimits.unknown], person: client.caller.id, address: client.address, writing: bytes)
            } catch let excess {
                error = excess
            }
        }
        answers.fail(event, error, to: socket)
    }

    func receive(_ event: SocketIOEvent, ofBytes bytes: Int, on client: ClientSocket) {
        client.subscriber.object.liveness.noteEvent(at: loop.now)
        lastEvent &+= 1
        let origin = services.origin(
            "\(client.id)-\(lastEvent)", trace: event.arguments.first?["traceparent"]?.string)
        let arrived = ClientEvent(event, ofBytes: bytes, of: client, origin: origin)
        if let refusal = client.take(arrived) {
            return answers.fail(event, limits.noRoom(isOwn: refusal == .own), to: client.socket, request: origin.id)
        }
        if !client.isWaiting, client.begin(arrived) { return handle(arrived) }
        if client.wait(with: arrived) { return }
        log.warning("a socket sends without waiting for answers", ["user": client.caller.id])
        client.drop(arrived)
        client.socket.closeTransport()
    }

    // MARK: Order

    /// Continues with the waiting events, even of a client that has left: what it sent before still counts.
    func resume(_ client: ClientSocket) {
        if client.isResuming { return }
        for _ in 0..<Self.maxResumedPerTurn {
            guard let next = client.beginNext() else { return }
            handle(next)
        }
        // Those that are refused at once may be thousands.
        client.isResuming = true
        loop.inNextTurn { [self] in
            client.isResuming = false
            resume(client)
        }
    }

    /// Handles an event that has begun. Events begin in order. The gateway's own are finished before the next one starts;
    /// services keep the order of the others, room by room.
    private func handle(_ event: ClientEvent) {
        let client = event.socket
        delivery.beginWork()
        do throws(ServiceError) {
            if let own = event.own {
                // Check before a task is created: a socket may send tens of thousands a second.
                try limits.pass([own.limit], person: client.caller.id, address: client.address)
                if own == .join { delivery.onLoop { $0.noteVisit() } }
                let bound = LoopBound(event, to: loop)
                // On the loop, as those of `startTask`. The event itself counts as work of the loop.
                Task(executorPreference: loop) { await self.changeRooms(own, bound.object) }
            } else {
                try ask(event)
            }
        } catch {
            // Not within this call: finishing an event starts the next one. If each failed at once, the calls would nest
            // without limit.
            enqueue { [event = LoopBound(event, to: loop)] in $0.fail(event.object, error) }
        }
    }

    private func changeRooms(_ own: OwnEvent, _ event: ClientEvent) async {
        do throws(ServiceError) {
            let room = try await joins.change(own, event, on: self)
            finish(event) {
                answers.succeed(event, reserving: room?.bytes.count ?? 0) { json in
                    if let room { json.member("room", room) }
                }
            }
        } catch {
            fail(event, error)
        }
    }

    private func fail(_ event: ClientEvent, _ error: ServiceError) { finish(event) { answers.fail(event, error) } }

    /// Ends an event: releases what it holds, answers it, and starts those that wait for it. Its memory is released
    /// first, so that the answer may use it.
    private func finish(_ event: ClientEvent, _ answer: () -> Void) {
        event.socket.finish(event)
        answer()
        if event.socket.isWaiting { resume(event.socket) }
        delivery.endWork()
    }

    // MARK: Declared events

    /// Sends the request to the service that declared the event. The ack follows the fan-out of the resulting event.
    private func ask(_ event: ClientEvent) throws(ServiceError) {
        let client = event.socket
        guard let offered = directory.catalog.socketEvents[event.name] else { throw try refusal(ofUndeclared: client) }
        let pass = try limits.pass(
            offered.limits, person: client.caller.id, address: client.address, writing: event.writtenBytes)
        do throws(ServiceError) {
            try event.admit(as: offered.declaration, pass)
        } catch {
            limits.settle(pass, error)
            throw error
        }
        if offered.checks.isEmpty, !client.held.holds(event.roomID) {
            forward(event)
        } else {
            hold(event, until: offered.checks)
        }
    }

    /// Holds an event, and those that follow in its room, until its checks are answered. Several events may be
    /// checked at once.
    private func hold(_ event: ClientEvent, until required: [ServiceCheck]) {
        event.socket.held.append(event)
        guard !required.isEmpty else { return }
        event.isBeingChecked = true
        let bound = LoopBound(event, to: loop)
        checks.ask(
            required, event.data, as: event.socket.caller, origin: event.origin, key: event.roomID
        ) { [self] denial in enqueue { $0.release(bound.object, denial) } }
    }

    private func release(_ event: ClientEvent, _ denial: ServiceError?) {
        event.isBeingChecked = false
        event.denial = denial
        let client = event.socket
        // Take one at a time: when an event ends, waiting ones start, and they may join the held events of this room.
        while let next = client.held.popChecked(in: event.roomID) {
            if let denial = client.isEnded ? ServiceError(.unauthenticated, "Log in first.") : next.denial {
                receive(.failure(denial), for: next)
            } else {
                forward(next)
            }
        }
    }

    private func forward(_ event: ClientEvent) {
        let bound = LoopBound(event, to: loop)
        services.send(
            event.subject, event.data, as: event.socket.caller, origin: event.origin, key: event.roomID
        ) { [self] result in
            // Do not finish it within the call that sends it: its end starts waiting events. If those ended at once as
            // well, the calls would nest without limit.
            if loop.isCurrent, bound.object.isSent {
                onLoop { $0.receive(result, for: bound.object) }
            } else {
                enqueue { $0.receive(result, for: bound.object) }
            }
        }
        event.isSent = true
    }

    private func receive(_ result: Result<Reply, ServiceError>, for event: ClientEvent) {
        switch result {
        case .failure(let error):
            limits.settle(event.pass, error)
            fail(event, error)
        case .success(let reply):
            limits.settle(event.pass, nil)
            if reply.isDuplicate { limits.giveBackBytes(event.pass) }
            let bound = LoopBound(event, to: loop)
            let acknowledge: @Sendable () -> Void = { [self] in
                onLoop { front in
                    let event = bound.object
                    front.log.noteAnswer(reply.position, event.subject, event.origin)
                    guard event.answer == .room else { return front.succeed(event, reply) }
                    front.startTask { await $0.compose(reply, for: bound.object) }
                }
            }
            delivery.onLoop { $0.afterFanout(of: reply.position, by: bound.object.origin.deadline, acknowledge) }
        }
    }

    private func succeed(_ event: ClientEvent, _ reply: Reply) {
        finish(event) {
            answers.succeed(event, reserving: reply.data.bytes.count) { event.write(reply, to: &$0) }
        }
    }

    /// Answers with the Room as the caller sees it.
    private func compose(_ reply: Reply, for event: ClientEvent) async {
        do throws(ServiceError) {
            let composed = try await composer.compose(
                [reply.data], for: event.socket.caller.id, event.origin, remembering: .some)
            guard let room = composed.rooms.first else {
                throw ServiceError(.internal, "Something went wrong on our side.")
            }
            succeed(event, Reply(reply.status, room.json, isDuplicate: reply.isDuplicate))
        } catch {
            fail(event, error)
        }
    }
}
