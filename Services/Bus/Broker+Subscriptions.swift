import ParlorMessageBus

extension Broker {
    func subscribe(
        _ line: UnsafeRawBufferPointer, _ parsed: BusLine, _ peer: BrokerPeer, isServing: Bool
    ) throws(BrokerRefusal) {
        guard let number = parsed.id else { throw .malformed("`id` is missing") }
        guard peer.subscriptions[number] == nil else { throw .malformed("`id` \(number) is in use") }
        // The bytes as they are, like those of published subjects: escapes are not decoded.
        let pattern = parsed.subject.map { String(decoding: line[$0], as: UTF8.self) }
        guard let pattern, SubjectGrammar.isPattern(pattern) else {
            throw .badSubject("`subject` is not a valid pattern")
        }
        let queue = parsed.queue.map { String(decoding: line[$0], as: UTF8.self) }
        if let queue, !SubjectGrammar.isQueue(queue) { throw .badSubject("`queue` is not a name") }
        guard queue != nil || !isServing else { throw .malformed("`queue` is missing") }
        try peer.check(isServing ? .serve : .subscribe, on: pattern)
        if let queue, !isServing { try peer.checkSharing(pattern, as: queue) }
        guard peer.subscriptions.count < settings.maxSubscriptionsPerPeer else {
            throw .refused("at most \(settings.maxSubscriptionsPerPeer) subscriptions")
        }
        peer.subscriptions[number] = routes.insert(
            BrokerSubscription(peer: peer, number: number), pattern: pattern, queue: queue, isServing: isServing)
        counters.subscriptions += 1
    }

    func unsubscribe(_ parsed: BusLine, _ peer: BrokerPeer) throws(BrokerRefusal) {
        guard let number = parsed.id else { throw .malformed("`id` is missing") }
        // A `sub` that was refused has no subscription, and the peer was told so.
        guard let held = peer.subscriptions.removeValue(forKey: number) else { return }
        remove(held)
    }

    func remove(_ held: BrokerPeer.Held) {
        counters.subscriptions -= 1
        routes.remove(held)
    }
}
