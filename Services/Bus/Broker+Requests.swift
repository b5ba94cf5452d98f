import MessageBus

extension Broker {
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
            return refuse(peer, BusError.badSubject.code, "`subject` is none", id: id)
        }
        guard allows(.request, on: name, by: peer, id: id) else { return }
        guard !isDraining else { return refuse(peer, "draining", "this bus is being stopped", id: id) }
        guard peer.requestsUnderWay < settings.maxRequestsPerPeer else {
            return refuse(peer, "refused", "at most \(settings.maxRequestsPerPeer) requests under way", id: id)
        }
        counters.requests += 1
        guard let group = responders.match(name).groups.first else {
            counters.noResponders += 1
            return refuse(peer, BusError.noResponders.code, "nobody serves it now", id: id)
        }
        turn &+= 1
        let subscription = group.pick(
            key: parsed.key.map { RendezvousHash.hash(UnsafeRawBufferPointer(rebasing: line[$0])) }, turn: turn)
        let timeout = parsed.timeout.map { min(.milliseconds($0), settings.maxTimeout) } ?? BusContext.defaultTimeout
        let reply = requests.insert(
            BrokerRequest(requester: peer, id: id, responder: subscription.peer), deadline: now + timeout)
        peer.requestsUnderWay += 1
        counters.requestsUnderWay += 1
        counters.delivered += 1
        counters.deliveredBytes += data.count
        send(to: subscription.peer) { out in
            out += subscription.prefix
            out += #","reply":"#
            out += String(reply).utf8
            out += #","subject":""#
            out += UnsafeRawBufferPointer(rebasing: line[subject])
            out += #"","timeout":"#
            out += String(timeout.wholeMilliseconds).utf8
            Self.pass(.quoted, "request", parsed.request, of: line, to: &out)
            Self.pass(.bare, "caller", parsed.caller, of: line, to: &out)
            Self.pass(.quoted, "key", parsed.key, of: line, to: &out)
            Self.pass(.quoted, "trace", parsed.trace, of: line, to: &out)
            out += #","data":"#
            out += UnsafeRawBufferPointer(rebasing: line[data])
            out += "}\n"
        }
    }

    private enum Form { case quoted, bare }

    /// A member as it stands in the other line, if it does.
    private static func pass(
        _ form: Form, _ name: StaticString, _ range: Range<Int>?, of line: UnsafeRawBufferPointer,
        to out: inout [UInt8]
    ) {
        guard let range else { return }
        out += #",""#
        out += name
        out += #"":"#
        // The quotation marks stand beside the range.
        let written = form == .quoted ? range.lowerBound - 1..<range.upperBound + 1 : range
        out += UnsafeRawBufferPointer(rebasing: line[written])
    }

    func reply(_ line: UnsafeRawBufferPointer, _ parsed: BusLine, from peer: BrokerPeer) {
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
            out += #"{"op":"res","id":"#
            out += String(request.id).utf8
            out += #","data":"#
            out += UnsafeRawBufferPointer(rebasing: line[data])
            out += "}\n"
        }
    }

    func answer(_ request: BrokerRequest, error: BusError, _ message: String) {
        finish(request)
        if case .refused(let reason) = error {
            refuse(request.requester, error.code, reason, id: request.id)
        } else {
            refuse(request.requester, error.code, message, id: request.id)
        }
    }

    private func finish(_ request: BrokerRequest) {
        request.requester.requestsUnderWay -= 1
        counters.requestsUnderWay -= 1
    }
}
