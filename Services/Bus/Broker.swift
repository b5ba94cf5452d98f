import ParlorMessageBus
import ParlorSecurity

/// Routes lines between peers. It has no sockets and no clock: its host passes the input and the time, and
/// sends the output from the peers' outboxes.
///
/// `data` is copied from one line to the other as bytes. A line that is not carried out is answered with `err`.
final class Broker {
    let settings: BrokerSettings
    private var access: BrokerAccess
    var counters = BrokerCounters()
    private var peers: [UInt64: BrokerPeer] = [:]
    private var lastPeerID: UInt64 = 0
    var routes = RoutingTable()
    var requests = PendingRequests<BrokerRequest>()
    private var ready: [BrokerPeer] = []
    var backPressure: BackPressure
    private(set) var isDraining = false

    private let notify: (BrokerNotice) -> Void
    /// The time of the last line.
    private(set) var now: Duration = .zero
    private var forbiddenNotices = NoticeBudget()

    init(settings: BrokerSettings, notify: @escaping (BrokerNotice) -> Void = { _ in }) {
        self.settings = settings
        backPressure = BackPressure(settings)
        access = settings.access
        self.notify = notify
    }

    /// True while a reply is awaited.
    var hasRequests: Bool { !requests.isEmpty }
    /// The time at which `expire` must be called.
    var nextExpiry: Duration? { earlier(requests.nextExpiry, backPressure.nextExpiry) }

    /// Returns the peers with output to send, or to be closed, since the last call.
    func takeReadyPeers() -> [BrokerPeer] {
        defer { ready.removeAll(keepingCapacity: true) }
        for peer in ready { peer.isReady = false }
        return ready
    }

    // MARK: - Peers

    func connect(at now: Duration) -> BrokerPeer {
        lastPeerID += 1
        let peer = BrokerPeer(id: lastPeerID, at: now)
        peers[peer.id] = peer
        counters.peers += 1
        return peer
    }

    /// Handles the loss of a connection.
    func disconnect(_ peer: BrokerPeer) {
        if peer.phase == .open { notify(.left(peer: peer.name)) }
        forget(peer)
    }

    /// Removes a peer with its subscriptions and requests.
    private func forget(_ peer: BrokerPeer) {
        guard peers.removeValue(forKey: peer.id) != nil else { return }
        counters.peers -= 1
        peer.phase = .closing
        for (_, held) in peer.subscriptions { remove(held) }
        peer.subscriptions = [:]
        peer.lastRoute = nil
        backPressure.noteDrained(peer)
        guard hasRequests else { return }
        for request in requests.takeAll(where: { $0.requester === peer || $0.responder === peer }) {
            answer(request, error: .disconnected, "the responder is gone")
        }
    }

    /// Replaces the table of peers. Disconnects a peer whose row is gone or has changed: it connects again with the
    /// rights that it has now, if any. To change a connection's rights would leave its forbidden subscriptions.
    func admit(by access: BrokerAccess) {
        self.access = access
        for peer in peers.values where peer.phase == .open {
            if case .restricted(let known) = access.admit(token: peer.token), known == peer.known { continue }
            cut(peer, "unauthorized", "the table of peers has changed")
        }
    }

    /// Refuses new requests; those in progress continue.
    func startDraining() { isDraining = true }

    /// Sends the reason as the peer's last line, and closes.
    private func cut(_ peer: BrokerPeer, _ code: String, _ message: String) {
        guard peer.phase != .closing else { return }
        notify(.cut(peer: peer.name, code: code))
        forget(peer)
        peer.append { LineWriter.error(code, message, to: &$0) }
        makeReady(peer)
    }

    /// Ends requests and holds whose time is over, and pings silent peers. Disconnects dead peers, and those that have
    /// sent no hello in time.
    func tick(at now: Duration) {
        expire(at: now)
        for peer in peers.values {
            let silence = now - peer.lastReceivedAt
            if peer.phase == .new, now - peer.connectedAt >= settings.helloTimeout {
                counters.refusedPeers += 1
                cut(peer, "hello_first", "no hello in time")
            } else if peer.phase == .open, silence >= settings.pingInterval * 3 {
                cut(peer, "dead", "nothing heard for too long")
            } else if peer.phase == .open, silence >= settings.pingInterval,
                now - peer.lastPinged >= settings.pingInterval
            {
                peer.lastPinged = now
                send(to: peer) { LineWriter.ping(to: &$0) }
            }
        }
    }

    func expire(at now: Duration) {
        backPressure.expire(at: now)
        for request in requests.expire(at: now) {
            counters.deadlinesExceeded += 1
            answer(request, error: .deadlineExceeded, "no reply in time")
        }
    }

    // MARK: - Sending

    private func makeReady(_ peer: BrokerPeer) {
        guard !peer.isReady else { return }
        peer.isReady = true
        ready.append(peer)
    }

    func send(to peer: BrokerPeer, _ write: (inout [UInt8]) -> Void) {
        guard peer.phase != .closing else { return }
        peer.append(write)
        makeReady(peer)
        guard peer.hasUnsent(moreThan: settings.maxUnsentBytes) else { return }
        counters.slowConsumers += 1
        peer.dropOutbox()
        cut(peer, BusError.slowConsumer.code, "more than \(settings.maxUnsentBytes) bytes wait")
    }

    /// Answers a line that is not carried out. The answer names the request or the subscription.
    func refuse(_ parsed: BusLine, of peer: BrokerPeer, because refusal: BrokerRefusal) {
        switch refusal {
        case .malformed: counters.malformed += 1
        case .noResponders: counters.noResponders += 1
        case .forbidden(let operation, let subject, _):
            counters.forbidden += 1
            if forbiddenNotices.take(at: now) { notify(.forbidden(peer: peer.name, operation, subject: subject)) }
        case .badSubject, .tooLong, .draining, .refused: break
        }
        let (id, sub): (UInt64?, UInt64?) =
            switch parsed.operation {
            case .sub, .serve: (nil, parsed.id)
            case .pub, .unsub, .hello: (nil, nil)
            default: (parsed.id, nil)
            }
        send(to: peer) { LineWriter.error(refusal.code, refusal.message, id: id, sub: sub, to: &$0) }
    }

    // MARK: - Lines

    /// - Parameter line: the line without its newline.
    func receive(_ line: UnsafeRawBufferPointer, from peer: BrokerPeer, at now: Duration) {
        guard peer.phase != .closing else { return }
        self.now = now
        peer.lastReceivedAt = now
        counters.received += 1
        let parsed: BusLine
        do throws(BusLineError) {
            parsed = try BusLine(line)
        } catch {
            counters.malformed += 1
            peer.charge(for: line.count, at: now)
            if peer.phase == .open { return send(to: peer) { LineWriter.error("malformed", error.reason, to: &$0) } }
            counters.refusedPeers += 1
            return cut(peer, "malformed", error.reason)
        }
        guard peer.phase == .open || parsed.operation == .hello else {
            counters.refusedPeers += 1
            return cut(peer, "hello_first", "the first line has to be a hello")
        }
        // A reply is what others asked for.
        if parsed.operation != .res { peer.charge(for: line.count, at: now) }
        do throws(BrokerRefusal) {
            switch parsed.operation {
            case .pub: try publish(line, parsed, from: peer)
            case .req: try request(line, parsed, from: peer)
            case .res: try reply(line, parsed, from: peer)
            case .sub: try subscribe(line, parsed, peer, isServing: false)
            case .serve: try subscribe(line, parsed, peer, isServing: true)
            case .unsub: try unsubscribe(parsed, peer)
            case .ping: send(to: peer) { LineWriter.pong(to: &$0) }
            case .pong: break
            case .hello: try hello(line, parsed, from: peer)
            case .welcome, .msg, .err, nil: throw .malformed("`op` is not one that a peer may send")
            }
        } catch {
            refuse(parsed, of: peer, because: error)
        }
    }

    /// Returns how long a peer has to wait because of its rate, before more of its lines are read; nil if it has not.
    func pause(of peer: BrokerPeer) -> Duration? {
        guard peer.phase == .open, let excess = peer.excess(over: settings.burst, at: now) else { return nil }
        counters.throttled += 1
        return excess
    }

    /// The limit of an incomplete line before `hello`, as its sender may be anybody.
    static let maxHello = 8192

    /// Disconnects a peer with a line over the limit, as the start of the next one is unknown.
    func receivedOverlongLine(from peer: BrokerPeer) {
        counters.malformed += 1
        let limit = peer.phase == .new ? Self.maxHello : BusLimits.maxLine
        cut(peer, BusError.lineTooLong.code, "a line is at most \(limit) bytes")
    }

    private func hello(
        _ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer
    ) throws(BrokerRefusal) {
        guard peer.phase == .new else { throw .malformed("hello was said before") }
        guard parsed.version == UInt64(ProtocolVersion.current) else {
            counters.refusedPeers += 1
            return cut(peer, "unsupported_version", "this bus speaks version \(ProtocolVersion.current)")
        }
        peer.token = line.string(at: parsed.token) ?? ""
        switch access.admit(token: peer.token) {
        case .refused:
            counters.refusedPeers += 1
            return cut(peer, "unauthorized", "the token is not this bus's token")
        case .unrestricted: peer.name = line.string(at: parsed.name) ?? ""
        case .restricted(let known):
            (peer.name, peer.known, peer.rights) = (known.name, known, BrokerRights(known.rights))
        }
        peer.phase = .open
        notify(.joined(peer: peer.name))
        send(to: peer) { LineWriter.welcome(name: "parlor-bus", pingInterval: settings.pingInterval, to: &$0) }
    }
}
