import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorGatewayPresence
import ParlorJSON
import ParlorReactor
import ParlorRoomViews
import ParlorServiceKit
import ParlorSocketIO

/// Serves the sockets of one loop: their connections, and their ends. `EventFront` serves their events.
package actor SocketFront: LoopPart {
    package nonisolated let loop: EventLoop
    package nonisolated let delivery: LoopDelivery
    private let directory: Directory
    private nonisolated let events: EventFront
    private let limits: Limits
    private let tokens: TokenVerifier
    private let presence: Presence
    private let personSockets: PersonSockets
    private let metrics: EdgeMetrics
    private let clock: any WallClock
    private let log: Logger

    private var sockets = SocketTable()
    private var lastSocket = 0

    package init(
        _ events: EventFront, directory: Directory, admission: Admission, presence: Presence,
        personSockets: PersonSockets, metrics: EdgeMetrics, clock: any WallClock, log: Logger
    ) {
        loop = events.loop
        delivery = events.delivery
        self.directory = directory
        self.events = events
        limits = admission.limits
        tokens = admission.tokens
        self.presence = presence
        self.personSockets = personSockets
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
        lastSocket += 1
        let client = ClientSocket(
            socket, id: "\(loop.index).\(lastSocket)", caller: claims.caller, sessionID: claims.sessionID,
            keepsOrder: events.keepsOrder, on: loop)
        let left = Timestamp(milliseconds: claims.expiresAt * 1000).milliseconds - clock.now().milliseconds
        client.expiry = loop.schedule(after: .milliseconds(left)) { socket.closeTransport() }
        (socket.context, socket.person) = (client, claims.caller.id)
        register(client)
        let subscriber = client.subscriber
        guard let since = auth?["since"], !since.isNull else {
            delivery.onLoop { $0.admit(subscriber) }
            return socket.accept()
        }
        client.isChangingRooms = true
        socket.accept()
        startTask { [client = LoopBound(client, to: loop)] front in
            await front.delivery.recover(subscriber, since: since, from: address)
            client.object.isChangingRooms = false
            front.events.onLoop { $0.resume(client.object) }
        }
    }

    /// Handles the end of a socket: its client has left the namespace, or the connection has closed.
    func disconnect(_ socket: Socket) {
        guard let client = socket.context as? ClientSocket else { return }
        socket.context = nil
        let (id, subscriber) = (client.id, client.subscriber)
        subscriber.object.isConnected = false
        client.expiry?.cancel()
        sockets.remove(client)
        personSockets.remove(id, of: client.caller.id)
        delivery.onLoop { $0.remove(subscriber) }
        startTask { await $0.presence.disconnect(socketID: id) }
    }

    // MARK: Ending sockets

    private func register(_ client: ClientSocket) {
        sockets.add(client)
        let entry = PersonSockets.Entry(front: self, socketID: client.id)
        guard let oldest = personSockets.add(entry, of: client.caller.id) else { return }
        log.debug("a person has too many sockets: the oldest ends", ["user": client.caller.id])
        // Enqueue this even if the oldest socket is on this loop: the new socket has to be connected first.
        oldest.front.enqueue { $0.replace(oldest.socketID) }
    }

    /// Disconnects with DISCONNECT, after which clients do not reconnect. One that did would disconnect the next
    /// oldest.
    private func replace(_ id: String) {
        guard let client = sockets[id] else { return }
        metrics.replacedSockets.add()
        EventAnswers.report(
            ServiceError(.rateLimited, "You have more than \(personSockets.limit) connections: the oldest ends."),
            of: "connect", to: client.socket)
        client.socket.disconnect()
    }

    /// Ends the sockets of these sessions, whose tokens are refused by now, so that none reconnects.
    package func endSessions(_ ids: [String]) {
        for id in ids {
            for client in sockets.ofSession(id) {
                metrics.endedSockets.add()
                client.endSession()
            }
        }
    }
}

extension SocketFront: SocketDelegate {
    package nonisolated func socket(_ socket: Socket, asksToConnect namespace: String, auth: JSONValue?) {
        onLoop { $0.connect(socket, auth: auth) }
    }

    package nonisolated func socket(_ socket: Socket, takes event: SocketIOEvent, ofBytes bytes: Int) -> Bool {
        guard let client = socket.context as? ClientSocket else { return true }
        return events.onLoop { $0.takes(event, ofBytes: bytes, on: client) }
    }

    package nonisolated func socket(_ socket: Socket, received event: SocketIOEvent, ofBytes bytes: Int) {
        guard let client = socket.context as? ClientSocket else { return }
        events.onLoop { $0.receive(event, ofBytes: bytes, on: client) }
    }

    package nonisolated func socket(
        _ socket: Socket, refused event: SocketIOEvent, ofBytes bytes: Int, because refusal: SocketIORefusal
    ) {
        events.onLoop { $0.refuse(event, ofBytes: bytes, because: refusal, on: socket) }
    }

    package nonisolated func socketIsPinged(_ socket: Socket) {
        guard let client = socket.context as? ClientSocket else { return }
        delivery.onLoop { $0.notePing(to: client.subscriber) }
    }

    package nonisolated func socketAnsweredPing(_ socket: Socket) {
        guard let client = socket.context as? ClientSocket else { return }
        client.subscriber.object.liveness.noteAnswer(at: loop.now)
    }

    package nonisolated func socket(_ socket: Socket, leftNamespace namespace: String) {
        onLoop { $0.disconnect(socket) }
    }

    package nonisolated func socketDidClose(_ socket: Socket, reason: SocketCloseReason) {
        onLoop { $0.disconnect(socket) }
    }
}
