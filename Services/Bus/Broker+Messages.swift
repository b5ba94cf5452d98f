import ParlorMessageBus

// The messages between peers: events, requests and replies.
extension Broker {
    func publish(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) throws(BrokerRefusal) {
        let (subject, data) = try passedOn(line, parsed)
        let route = try route(subject, from: peer)
        for subscription in route.match.everyone { deliver(data, by: route, from: peer, to: subscription) }
        for group in route.match.groups { deliver(data, by: route, from: peer, to: routes.receiver(in: group)) }
    }

    /// Returns the subject and the data of a line that is passed on.
    private func passedOn(
        _ line: UnsafeRawBufferPointer, _ parsed: BusLine
    ) throws(BrokerRefusal) -> (subject: UnsafeRawBufferPointer, data: UnsafeRawBufferPointer) {
        guard let data = parsed.data else { throw .malformed("`data` is missing") }
        guard let subject = parsed.subject else { throw .malformed("`subject` has to come before `data`") }
        guard line.count < BusLimits.maxPassedOnLine else { throw .tooLong }
        return (UnsafeRawBufferPointer(rebasing: line[subject]), UnsafeRawBufferPointer(rebasing: line[data]))
    }

    /// Returns the route of a subject. For a peer that publishes on one subject repeatedly, its last route is used again.
    private func route(_ subject: UnsafeRawBufferPointer, from peer: BrokerPeer) throws(BrokerRefusal) -> BrokerRoute {
        if let last = peer.lastRoute, routes.isCurrent(last, of: subject) { return last }
        let name = try name(subject, for: .publish, by: peer)
        let route = routes.route(of: name, subject)
        peer.lastRoute = route
        return route
    }

    /// Returns a subject on which the peer has the right.
    private func name(
        _ subject: UnsafeRawBufferPointer, for operation: BusRights.Operation, by peer: BrokerPeer
    ) throws(BrokerRefusal) -> String {
        let name = String(decoding: subject, as: UTF8.self)
        guard SubjectGrammar.isSubject(name) else { throw .badSubject("`subject` is not a valid subject") }
        try peer.check(operation, on: name)
        return name
    }

    private func deliver(
        _ payload: UnsafeRawBufferPointer, by route: BrokerRoute, from sender: BrokerPeer,
        to subscription: BrokerSubscription
    ) {
        counters.delivered += 1
        counters.deliveredBytes += payload.count
        let receiver = subscription.peer
        send(to: receiver) { subscription.write(payload, by: route, to: &$0) }
        noteQueued(payload.count + route.middle.count, for: receiver, by: sender)
    }

    private func noteQueued(_ count: Int, for receiver: BrokerPeer, by sender: BrokerPeer) {
        guard receiver.handedOver > 0 else { return }
        if backPressure.noteQueued(count, for: receiver, by: sender, at: now) { counters.holds += 1 }
    }

    // MARK: Requests

    func request(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) throws(BrokerRefusal) {
        guard let id = parsed.id else { throw .malformed("`id` has to come before `data`") }
        let (subject, data) = try passedOn(line, parsed)
        let name = try name(subject, for: .request, by: peer)
        guard !isDraining else { throw .draining }
        guard peer.requestsInFlight < settings.maxRequestsPerPeer else {
            throw .refused("at most \(settings.maxRequestsPerPeer) requests in progress")
        }
        counters.requests += 1
        guard
            let subscription = routes.responder(
                of: name, key: parsed.key.map { RendezvousHash.hash(UnsafeRawBufferPointer(rebasing: line[$0])) })
        else { throw .noResponders }
        let timeout = parsed.timeout.map { min(.milliseconds($0), settings.maxTimeout) } ?? BusContext.defaultTimeout
        let reply = requests.insert(
            BrokerRequest(requester: peer, id: id, responder: subscription.peer), deadline: now + timeout)
        peer.requestsInFlight += 1
        counters.requestsInFlight += 1
        counters.delivered += 1
        counters.deliveredBytes += data.count
        let receiver = subscription.peer
        send(to: receiver) { subscription.write(parsed, of: line, reply: reply, timeout: timeout, to: &$0) }
        noteQueued(line.count, for: receiver, by: peer)
    }

    func reply(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) throws(BrokerRefusal) {
        guard let id = parsed.id else { throw .malformed("`id` has to come before `data`") }
        guard parsed.data != nil || parsed.error != nil else { throw .malformed("`data` or `error` is missing") }
        // Ignore a reply that is late, or from a peer other than the responder: nobody waits for it.
        guard requests[id]?.responder === peer, let request = requests.take(id) else { return }
        guard line.count < BusLimits.maxPassedOnLine else {
            refuse(parsed, of: peer, because: .tooLong)
            return answer(request, error: .lineTooLong, "the reply is too long")
        }
        guard let data = parsed.data else {
            let code = line.string(at: parsed.error) ?? ""
            return answer(request, error: BusError(code: code, message: code), "the responder answered with an error")
        }
        finish(request)
        send(to: request.requester) { out in
            out += #"{"op":"res","id":"#
            out += String(request.id).utf8
            out += #","data":"#
            out += UnsafeRawBufferPointer(rebasing: line[data])
            out += "}\n"
        }
    }

    func answer(_ request: BrokerRequest, error: BusError, _ message: String) {
        finish(request)
        let message = if case .refused(let reason) = error { reason } else { message }
        send(to: request.requester) { LineWriter.error(error.code, message, id: request.id, to: &$0) }
    }

    private func finish(_ request: BrokerRequest) {
        request.requester.requestsInFlight -= 1
        counters.requestsInFlight -= 1
    }
}
