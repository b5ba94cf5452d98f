import MessageBus

extension Broker {
    func publish(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
        guard let data = parsed.data else { return malformed(peer, "`data` is missing") }
        guard let subject = parsed.subject else { return malformed(peer, "`subject` has to come before `data`") }
        guard line.count < BusLimits.maxPassedOnLine else { return refuseLength(peer) }
        let name = UnsafeRawBufferPointer(rebasing: line[subject])
        let payload = UnsafeRawBufferPointer(rebasing: line[data])
        guard let route = route(name, from: peer) else { return }
        for subscription in route.match.everyone { deliver(payload, by: route, to: subscription) }
        for group in route.match.groups {
            turn &+= 1
            deliver(payload, by: route, to: group.pick(key: nil, turn: turn))
        }
    }

    /// nil if it is no subject, or none of those that the peer may publish; it was told then. A peer's last route stands for what was
    /// found out of its subject.
    private func route(_ subject: UnsafeRawBufferPointer, from peer: BrokerPeer) -> BrokerRoute? {
        if let last = peer.lastRoute, last.isOf(subject, version: routesVersion) { return last }
        let name = String(decoding: subject, as: UTF8.self)
        guard SubjectGrammar.isSubject(name) else {
            refuse(peer, BusError.badSubject.code, "`subject` is none")
            return nil
        }
        guard allows(.publish, on: name, by: peer) else { return nil }
        let route = BrokerRoute(subject, to: subscribers.match(name), version: routesVersion)
        peer.lastRoute = route
        return route
    }

    private func deliver(_ payload: UnsafeRawBufferPointer, by route: BrokerRoute, to subscription: BrokerSubscription)
    {
        counters.delivered += 1
        counters.deliveredBytes += payload.count
        send(to: subscription.peer) { out in
            out += subscription.prefix
            out += route.middle
            out += payload
            out += "}\n"
        }
    }
}
