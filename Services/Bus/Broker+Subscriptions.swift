import ParlorMessageBus

extension Broker {
    func subscribe(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, _ peer: BrokerPeer, isServing: Bool) {
        guard let number = parsed.id else { return malformed(peer, "`id` is missing") }
        guard peer.subscriptions[number] == nil else {
            return refuse(peer, "malformed", "`id` \(number) is in use", sub: number)
        }
        // The bytes as they are, like those of published subjects: escapes are not decoded.
        let pattern = parsed.subject.map { String(decoding: line[$0], as: UTF8.self) }
        guard let pattern, SubjectGrammar.isPattern(pattern) else {
            return refuse(peer, "bad_subject", "`subject` is not a valid pattern", sub: number)
        }
        let queue = parsed.queue.map { String(decoding: line[$0], as: UTF8.self) }
        if let queue, !SubjectGrammar.isQueue(queue) {
            return refuse(peer, "bad_subject", "`queue` is not a name", sub: number)
        }
        guard parsed.queue != nil || !isServing else {
            return refuse(peer, "malformed", "`queue` is missing", sub: number)
        }
        guard allows(isServing ? .serve : .subscribe, on: pattern, by: peer, sub: number) else { return }
        guard isServing || queue.map({ allows(sharing: pattern, as: $0, by: peer, sub: number) }) ?? true else {
            return
        }
        guard peer.subscriptions.count < settings.maxSubscriptionsPerPeer else {
            return refuse(peer, "refused", "at most \(settings.maxSubscriptionsPerPeer) subscriptions", sub: number)
        }
        lastID += 1
        let held = BrokerPeer.Held(id: lastID, isServing: isServing)
        let subscription = BrokerSubscription(peer: peer, number: number)
        if isServing {
            responders.insert(subscription, id: held.id, pattern: pattern, queue: queue, instance: peer.id)
        } else {
            routesVersion += 1
            subscribers.insert(subscription, id: held.id, pattern: pattern, queue: queue, instance: peer.id)
        }
        peer.subscriptions[number] = held
        counters.subscriptions += 1
    }

    func unsubscribe(_ parsed: BusLine, _ peer: BrokerPeer) {
        guard let number = parsed.id else { return malformed(peer, "`id` is missing") }
        // A `sub` that was refused has no subscription, and the peer was told so.
        guard let held = peer.subscriptions.removeValue(forKey: number) else { return }
        remove(held)
    }

    func remove(_ held: BrokerPeer.Held) {
        counters.subscriptions -= 1
        if held.isServing {
            responders.remove(held.id)
        } else {
            routesVersion += 1
            subscribers.remove(held.id)
        }
    }

    // MARK: Rights

    /// Returns true if the peer has the right; otherwise the peer gets an error. It stays connected, as a
    /// service that lacks one right still serves everything else. On a bus without a table of peers, every
    /// peer has all rights.
    func allows(
        _ operation: BusRights.Operation, on subject: String, by peer: BrokerPeer, id: UInt64? = nil, sub: UInt64? = nil
    ) -> Bool {
        guard let rights = peer.rights, !rights.allow(operation, on: subject) else { return true }
        forbid(operation, on: subject, "\(operation) `\(subject)`", peer, id: id, sub: sub)
        return false
    }

    /// Returns true if the peer may share a subject's events in a queue group. Each event goes to one member,
    /// so a group belongs to its own service: a member of another service would take some of its events.
    func allows(sharing pattern: String, as queue: String, by peer: BrokerPeer, sub: UInt64) -> Bool {
        guard peer.rights != nil, queue != peer.name else { return true }
        forbid(.subscribe, on: pattern, "share `\(pattern)` as `\(queue)`", peer, id: nil, sub: sub)
        return false
    }

    private func forbid(
        _ operation: BusRights.Operation, on subject: String, _ what: String, _ peer: BrokerPeer, id: UInt64?,
        sub: UInt64?
    ) {
        counters.forbidden += 1
        if forbiddenNotices.take(at: now) { notify(.forbidden(peer: peer.name, operation, subject: subject)) }
        refuse(peer, "forbidden", "`\(peer.name)` may not \(what)", id: id, sub: sub)
    }
}
