import MessageBus

extension Broker {
    func publish(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
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
        guard SubjectGrammar.isSubject(subject) else { return nil }
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
}
