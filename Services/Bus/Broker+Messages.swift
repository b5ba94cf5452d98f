import ParlorMessageBus

// The messages between peers: events, requests and replies.
extension Broker {
    func publish(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard let data = parsed.data else { return malformed(peer, "`data` is missing") }
        guard let subject = parsed.subject else { return malformed(peer, "`subject` has to come before `data`") }
        guard line.count < BusLimits.maxPassedOnLine else { return refuseLength(peer) }
        let name = UnsafeRawBufferPointer(rebasing: line[subject])
        let payload = UnsafeRawBufferPointer(rebasing: line[data])
        guard let route = route(name, from: peer) else { return }
        for subscription in route.match.everyone { deliver(payload, by: route, from: peer, to: subscription) }
        for group in route.match.groups {
            turn += 1
            deliver(payload, by: route, from: peer, to: group.pick(key: nil, turn: turn))
        }
    }

    /// Returns the route of a subject; nil if it is invalid, or the peer may not publish on it, in which case
    /// the peer gets an error. For a peer that publishes on one subject repeatedly, its last route is used again.
    private func route(_ subject: UnsafeRawBufferPointer, from peer: BrokerPeer) -> BrokerRoute? {
        if let last = peer.lastRoute, last.isOf(subject, version: routesVersion) { return last }
        let name = String(decoding: subject, as: UTF8.self)
        guard SubjectGrammar.isSubject(name) else {
            refuse(peer, BusError.badSubject.code, "`subject` is not a valid subject")
            return nil
        }
        guard allows(.publish, on: name, by: peer) else { return nil }
        let route = BrokerRoute(subject, to: subscribers.match(name), version: routesVersion)
        peer.lastRoute = route
        return route
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

    func request(
        _ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer, at now: Duration
    ) {
        guard let id = parsed.id else { return malformed(peer, "`id` has to come before `data`") }
        guard let data = parsed.data else { return malformed(peer, "`data` is missing", id: id) }
        guard let subject = parsed.subject else {
            return malformed(peer, "`subject` has to come before `data`", id: id)
        }
        guard line.count < BusLimits.maxPassedOnLine else { return refuseLength(peer, id: id) }
        let name = String(decoding: line[subject], as: UTF8.self)
        guard SubjectGrammar.isSubject(name) else {
            return refuse(peer, BusError.badSubject.code, "`subject` is not a valid subject", id: id)
        }
        guard allows(.request, on: name, by: peer, id: id) else { return }
        guard !isDraining else { return refuse(peer, "draining", "this bus is being stopped", id: id) }
        guard peer.requestsUnderWay < settings.maxRequestsPerPeer else {
            return refuse(peer, "refused", "at most \(settings.maxRequestsPerPeer) requests under way", id: id)
        }
        counters.requests += 1
        guard let group = responders.match(name).groups.first else {
            counters.noResponders += 1
            return refuse(peer, BusError.noResponders.code, "no responder for this subject", id: id)
        }
        turn += 1
        let subscription = group.pick(
            key: parsed.key.map { RendezvousHash.hash(UnsafeRawBufferPointer(rebasing: line[$0])) }, turn: turn)
        let timeout = parsed.timeout.map { min(.milliseconds($0), settings.maxTimeout) } ?? BusContext.defaultTimeout
        let reply = requests.insert(
            BrokerRequest(requester: peer, id: id, responder: subscription.peer), deadline: now + timeout)
        peer.requestsUnderWay += 1
        counters.requestsUnderWay += 1
        counters.delivered += 1
        counters.deliveredBytes += data.count
        let receiver = subscription.peer
        send(to: receiver) { subscription.write(parsed, of: line, reply: reply, timeout: timeout, to: &$0) }
        noteQueued(line.count, for: receiver, by: peer)
    }

    func reply(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard let id = parsed.id else { return malformed(peer, "`id` has to come before `data`") }
        guard parsed.data != nil || parsed.error != nil else {
            return malformed(peer, "`data` or `error` is missing", id: id)
        }
        // Ignore a reply that is late, or from a peer other than the responder: nobody waits for it.
        guard requests[id]?.responder === peer, let request = requests.take(id) else { return }
        guard line.count < BusLimits.maxPassedOnLine else {
            refuseLength(peer, id: id)
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
        refuse(request.requester, error.code, message, id: request.id)
    }

    private func finish(_ request: BrokerRequest) {
        request.requester.requestsUnderWay -= 1
        counters.requestsUnderWay -= 1
    }
}
