import MessageBus
import Security

/// Routes lines between peers. It knows no sockets and no clock: it is told what came and when, and leaves what is to be
/// sent in the peers' outboxes.
///
/// `data` is carried from one line to the other as the bytes it is. A line that makes no sense is answered with `err`.
final class Broker {
    private struct Request {
        let requester: BrokerPeer
        /// The requester's number for it.
        let id: UInt64
        let responder: BrokerPeer
    }

    let settings: BrokerSettings
    private(set) var counters = BrokerCounters()
    private var peers: [UInt64: BrokerPeer] = [:]
    private var subscribers = SubscriptionIndex<BrokerSubscription>()
    private var responders = SubscriptionIndex<BrokerSubscription>()
    /// Rises when an event may have to go elsewhere than before.
    private var routesVersion = 0
    private var requests = PendingRequests<Request>()
    private var lastID: UInt64 = 0
    private var turn: UInt64 = 0
    private var ready: [BrokerPeer] = []
    private(set) var isDraining = false

    private let notify: (BrokerNotice) -> Void

    init(settings: BrokerSettings, notify: @escaping (BrokerNotice) -> Void = { _ in }) {
        self.settings = settings
        self.notify = notify
    }

    /// Whether anyone still waits for a reply.
    var hasRequests: Bool { !requests.isEmpty }
    var hasDeadlines: Bool { requests.hasDeadlines }
    var hasReadyPeers: Bool { !ready.isEmpty }

    /// Peers with something to send, or to be closed, since the last call.
    func takeReadyPeers() -> [BrokerPeer] {
        defer { ready.removeAll(keepingCapacity: true) }
        for peer in ready { peer.isReady = false }
        return ready
    }

    // MARK: - Peers

    func connect(at now: Duration) -> BrokerPeer {
        lastID += 1
        let peer = BrokerPeer(id: lastID, at: now)
        peers[peer.id] = peer
        counters.peers += 1
        return peer
    }

    /// The connection is gone.
    func disconnect(_ peer: BrokerPeer) {
        if peer.phase == .open { notify(.left(peer: peer.name)) }
        forget(peer)
    }

    /// Nobody waits for this peer any more.
    private func forget(_ peer: BrokerPeer) {
        guard peers.removeValue(forKey: peer.id) != nil else { return }
        counters.peers -= 1
        peer.phase = .closing
        for (_, held) in peer.subscriptions { remove(held) }
        peer.subscriptions = [:]
        peer.lastRoute = nil
        guard hasRequests else { return }
        for request in requests.takeAll(where: { $0.requester === peer || $0.responder === peer }) {
            answer(request, error: .disconnected, "the responder is gone")
        }
    }

    /// Answers no new request any more; those under way go on.
    func startDraining() { isDraining = true }

    /// Says why, sends no more than that, and closes.
    private func cut(_ peer: BrokerPeer, _ code: String, _ message: String) {
        guard peer.phase != .closing else { return }
        notify(.cut(peer: peer.name, code: code))
        forget(peer)
        peer.append { LineWriter.error(code, message, to: &$0) }
        makeReady(peer)
    }

    /// Ends what has waited too long, pings who is silent and cuts off who is dead.
    func tick(at now: Duration) {
        expire(at: now)
        for peer in peers.values {
            let silence = now - peer.lastHeard
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

    private func send(to peer: BrokerPeer, _ write: (inout [UInt8]) -> Void) {
        guard peer.phase != .closing else { return }
        peer.append(write)
        makeReady(peer)
        guard peer.pendingBytes > settings.maxPendingBytes else { return }
        counters.slowConsumers += 1
        peer.dropOutbox()
        cut(peer, BusError.slowConsumer.code, "more than \(settings.maxPendingBytes) bytes wait")
    }

    private func refuse(
        _ peer: BrokerPeer, _ code: String, _ message: String, id: UInt64? = nil, sub: UInt64? = nil
    ) {
        send(to: peer) { LineWriter.error(code, message, id: id, sub: sub, to: &$0) }
    }

    private func malformed(_ peer: BrokerPeer, _ message: String, id: UInt64? = nil) {
        counters.malformed += 1
        if peer.phase == .new {
            counters.refusedPeers += 1
            cut(peer, "malformed", message)
        } else {
            refuse(peer, "malformed", message, id: id)
        }
    }

    // MARK: - Lines

    /// - Parameter line: without its newline.
    func receive(_ line: UnsafeRawBufferPointer, from peer: BrokerPeer, at now: Duration) {
        guard peer.phase != .closing else { return }
        peer.lastHeard = now
        counters.received += 1
        let parsed: BusLine
        do throws(BusLineError) {
            parsed = try BusLine(line)
        } catch {
            return malformed(peer, error.reason)
        }
        guard peer.phase == .open || parsed.operation == .hello else {
            counters.refusedPeers += 1
            return cut(peer, "hello_first", "the first line has to be a hello")
        }
        switch parsed.operation {
        case .pub: publish(line, parsed, from: peer)
        case .req: request(line, parsed, from: peer, at: now)
        case .res: reply(line, parsed, from: peer)
        case .sub: subscribe(line, parsed, peer, isServing: false)
        case .serve: subscribe(line, parsed, peer, isServing: true)
        case .unsub: unsubscribe(parsed, peer)
        case .ping: send(to: peer) { LineWriter.pong(to: &$0) }
        case .pong: break
        case .hello: hello(line, parsed, from: peer)
        case .welcome, .msg, .err, nil: malformed(peer, "`op` is none that a peer may send", id: parsed.id)
        }
    }

    /// A line over the limit: where the next one begins is not known.
    func receivedOverlongLine(from peer: BrokerPeer) {
        counters.malformed += 1
        cut(peer, BusError.lineTooLong.code, "a line is at most \(BusLimits.maxLine) bytes")
    }

    private func hello(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard peer.phase == .new else { return malformed(peer, "hello was said before") }
        guard parsed.version == UInt64(ProtocolVersion.current) else {
            counters.refusedPeers += 1
            return cut(peer, "unsupported_version", "this bus speaks version \(ProtocolVersion.current)")
        }
        if let token = settings.token {
            let given = line.string(at: parsed.token) ?? ""
            guard constantTimeEquals(Array(given.utf8), Array(token.utf8)) else {
                counters.refusedPeers += 1
                return cut(peer, "unauthorized", "the token is not this bus' token")
            }
        }
        peer.phase = .open
        peer.name = line.string(at: parsed.name) ?? ""
        notify(.joined(peer: peer.name))
        send(to: peer) { LineWriter.welcome(name: "parlor-bus", pingInterval: settings.pingInterval, to: &$0) }
    }

    // MARK: - Subscriptions

    private func subscribe(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, _ peer: BrokerPeer, isServing: Bool) {
        guard let number = parsed.id else { return malformed(peer, "`id` is missing") }
        guard peer.subscriptions[number] == nil else {
            return refuse(peer, "malformed", "`id` \(number) is in use", sub: number)
        }
        guard let subject = parsed.subject, Subject.isPattern(line[subject]) else {
            return refuse(peer, "bad_subject", "`subject` is no pattern", sub: number)
        }
        if let queue = parsed.queue, !Subject.isQueue(line[queue]) {
            return refuse(peer, "bad_subject", "`queue` is no name", sub: number)
        }
        guard parsed.queue != nil || !isServing else {
            return refuse(peer, "malformed", "`queue` is missing", sub: number)
        }
        guard peer.subscriptions.count < settings.maxSubscriptionsPerPeer else {
            return refuse(peer, "refused", "at most \(settings.maxSubscriptionsPerPeer) subscriptions", sub: number)
        }
        lastID += 1
        let held = BrokerPeer.Held(id: lastID, isServing: isServing)
        let subscription = BrokerSubscription(peer: peer, number: number)
        let pattern = String(decoding: line[subject], as: UTF8.self)
        let queue = parsed.queue.map { String(decoding: line[$0], as: UTF8.self) }
        if isServing {
            responders.insert(subscription, id: held.id, pattern: pattern, queue: queue, instance: peer.id)
        } else {
            routesVersion += 1
            subscribers.insert(subscription, id: held.id, pattern: pattern, queue: queue, instance: peer.id)
        }
        peer.subscriptions[number] = held
        counters.subscriptions += 1
    }

    private func unsubscribe(_ parsed: BusLine, _ peer: BrokerPeer) {
        guard let number = parsed.id else { return malformed(peer, "`id` is missing") }
        // One that is not there: perhaps refused, and that was said.
        guard let held = peer.subscriptions.removeValue(forKey: number) else { return }
        remove(held)
    }

    private func remove(_ held: BrokerPeer.Held) {
        counters.subscriptions -= 1
        if held.isServing {
            responders.remove(held.id)
        } else {
            routesVersion += 1
            subscribers.remove(held.id)
        }
    }

    // MARK: - Events

    private func publish(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard let data = parsed.data else { return malformed(peer, "`data` is missing") }
        guard let subject = parsed.subject else { return malformed(peer, "`subject` has to come before `data`") }
        guard line.count < BusLimits.maxPassedOnLine else { return refuseLength(peer) }
        let name = UnsafeRawBufferPointer(rebasing: line[subject])
        let payload = UnsafeRawBufferPointer(rebasing: line[data])
        guard let match = route(name, from: peer) else {
            return refuse(peer, BusError.badSubject.code, "`subject` is none")
        }
        for subscription in match.everyone { deliver(payload, on: name, to: subscription) }
        for group in match.groups {
            turn &+= 1
            deliver(payload, on: name, to: group.pick(key: nil, turn: turn))
        }
    }

    /// nil if it is no subject.
    private func route(
        _ subject: UnsafeRawBufferPointer, from peer: BrokerPeer
    ) -> SubscriptionIndex<BrokerSubscription>.Match? {
        if let last = peer.lastRoute, last.version == routesVersion, last.subject.elementsEqual(subject) {
            return last.match
        }
        guard Subject.isSubject(subject) else { return nil }
        let match = subscribers.match(String(decoding: subject, as: UTF8.self))
        peer.lastRoute = (Array(subject), match, routesVersion)
        return match
    }

    private func deliver(
        _ payload: UnsafeRawBufferPointer, on subject: UnsafeRawBufferPointer, to subscription: BrokerSubscription
    ) {
        counters.delivered += 1
        counters.deliveredBytes += payload.count
        send(to: subscription.peer) { out in
            out += subscription.prefix
            out += #","subject":""#.utf8
            out += subject
            out += #"","data":"#.utf8
            out += payload
            out += "}\n".utf8
        }
    }

    // MARK: - Requests

    private func request(
        _ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer, at now: Duration
    ) {
        guard let id = parsed.id else { return malformed(peer, "`id` has to come before `data`") }
        guard let data = parsed.data else { return malformed(peer, "`data` is missing", id: id) }
        guard let subject = parsed.subject else {
            return malformed(peer, "`subject` has to come before `data`", id: id)
        }
        guard line.count < BusLimits.maxPassedOnLine else { return refuseLength(peer, id: id) }
        guard Subject.isSubject(line[subject]) else {
            return refuse(peer, BusError.badSubject.code, "`subject` is none", id: id)
        }
        guard !isDraining else { return refuse(peer, "draining", "this bus is being stopped", id: id) }
        guard peer.requestsUnderWay < settings.maxRequestsPerPeer else {
            return refuse(peer, "refused", "at most \(settings.maxRequestsPerPeer) requests under way", id: id)
        }
        counters.requests += 1
        guard let group = responders.match(String(decoding: line[subject], as: UTF8.self)).groups.first else {
            counters.noResponders += 1
            return refuse(peer, BusError.noResponders.code, "nobody serves it now", id: id)
        }
        turn &+= 1
        let subscription = group.pick(key: parsed.key.map { RendezvousHash.hash(line[$0]) }, turn: turn)
        let timeout = parsed.timeout.map { min(.milliseconds($0), settings.maxTimeout) } ?? BusContext.defaultTimeout
        let reply = requests.insert(
            Request(requester: peer, id: id, responder: subscription.peer), deadline: now + timeout)
        peer.requestsUnderWay += 1
        counters.requestsUnderWay += 1
        counters.delivered += 1
        counters.deliveredBytes += data.count
        send(to: subscription.peer) { out in
            out += subscription.prefix
            out += #","reply":"#.utf8
            out += String(reply).utf8
            out += #","subject":""#.utf8
            out += UnsafeRawBufferPointer(rebasing: line[subject])
            out += #"","timeout":"#.utf8
            out += String(timeout.wholeMilliseconds).utf8
            Self.pass(.quoted, "request", parsed.request, of: line, to: &out)
            Self.pass(.bare, "caller", parsed.caller, of: line, to: &out)
            Self.pass(.quoted, "key", parsed.key, of: line, to: &out)
            Self.pass(.quoted, "trace", parsed.trace, of: line, to: &out)
            out += #","data":"#.utf8
            out += UnsafeRawBufferPointer(rebasing: line[data])
            out += "}\n".utf8
        }
    }

    private enum Form { case quoted, bare }

    /// A member as it stands in the other line, if it does.
    private static func pass(
        _ form: Form, _ name: StaticString, _ range: Range<Int>?, of line: UnsafeRawBufferPointer,
        to out: inout [UInt8]
    ) {
        guard let range else { return }
        out += #",""#.utf8
        out += UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        out += #"":"#.utf8
        // The quotation marks stand beside the range.
        let written = form == .quoted ? range.lowerBound - 1..<range.upperBound + 1 : range
        out += UnsafeRawBufferPointer(rebasing: line[written])
    }

    private func reply(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard let id = parsed.id else { return malformed(peer, "`id` has to come before `data`") }
        guard parsed.data != nil || parsed.error != nil else {
            return malformed(peer, "`data` or `error` is missing", id: id)
        }
        // Late, or none of this peer's: nobody waits for it.
        guard requests[id]?.responder === peer, let request = requests.take(id) else { return }
        guard line.count < BusLimits.maxPassedOnLine else {
            refuseLength(peer, id: id)
            return answer(request, error: .lineTooLong, "the reply is too long")
        }
        guard let data = parsed.data else {
            let code = line.string(at: parsed.error) ?? ""
            return answer(request, error: BusError(code: code, message: code), "the responder gave it back")
        }
        finish(request)
        send(to: request.requester) { out in
            out += #"{"op":"res","id":"#.utf8
            out += String(request.id).utf8
            out += #","data":"#.utf8
            out += UnsafeRawBufferPointer(rebasing: line[data])
            out += "}\n".utf8
        }
    }

    private func answer(_ request: Request, error: BusError, _ message: String) {
        finish(request)
        if case .refused(let reason) = error {
            refuse(request.requester, error.code, reason, id: request.id)
        } else {
            refuse(request.requester, error.code, message, id: request.id)
        }
    }

    private func finish(_ request: Request) {
        request.requester.requestsUnderWay -= 1
        counters.requestsUnderWay -= 1
    }

    private func refuseLength(_ peer: BrokerPeer, id: UInt64? = nil) {
        let limit = BusLimits.maxPassedOnLine
        refuse(peer, BusError.lineTooLong.code, "a line to be passed on is at most \(limit) bytes", id: id)
    }
}
