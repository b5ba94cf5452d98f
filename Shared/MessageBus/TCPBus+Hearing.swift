import JSON

// What the broker says. On the loop only.
extension TCPBus {
    func heard(_ line: UnsafeRawBufferPointer, _ parsed: BusLine) {
        switch parsed.operation {
        case .msg: heardMessage(line, parsed)
        case .res:
            guard let id = parsed.id, let completion = state.withLock({ $0.asked.take(id) }) else { return drained() }
            completion(line.value(at: parsed.data).map { .success($0) } ?? .failure(.refused("the reply is no JSON")))
            drained()
        case .err:
            let error = BusError(
                code: line.string(at: parsed.code) ?? "", message: line.string(at: parsed.message) ?? "")
            if let id = parsed.id {
                state.withLock { $0.asked.take(id) }?(.failure(error))
                drained()
            } else {
                onTrouble("the bus says: \(error)")
            }
        case .ping: say { if $0.connection != nil { LineWriter.pong(to: &$0.outgoing) } }
        case .pong: state.withLock { $0.pongs.isEmpty ? nil : $0.pongs.removeFirst() }?(.success(()))
        default: countMalformed()
        }
    }

    func countMalformed() { state.withLock { $0.counters.malformedLines &+= 1 } }

    private func heardMessage(_ line: UnsafeRawBufferPointer, _ parsed: BusLine) {
        guard let sub = parsed.sub, let subject = line.string(at: parsed.subject) else { return countMalformed() }
        // Whoever published it has to be a peer of this bus, not one who writes JSON: this is the border.
        guard let data = line.value(at: parsed.data) else {
            countMalformed()
            if let reply = parsed.reply { giveBack(reply, .refused("malformed")) }
            return
        }
        switch (state.withLock { $0.subscriptions[sub] }, parsed.reply) {
        case (.events(_, _, let handler), nil): handler(BusMessage(subject: subject, data: data))
        case (.requests(_, _, let handler), let reply?):
            let timeout = parsed.timeout.map { Duration.milliseconds($0) } ?? BusContext.defaultTimeout
            serve(
                reply, subject, data,
                BusContext(
                    requestID: line.string(at: parsed.request) ?? "", caller: line.value(at: parsed.caller),
                    timeout: timeout, key: line.string(at: parsed.key), trace: line.string(at: parsed.trace)),
                handler)
        // It was cancelled while this was on its way.
        case (_, let reply?): giveBack(reply, .noResponders)
        case (_, nil): break
        }
    }

    private func serve(
        _ reply: UInt64, _ subject: String, _ data: JSONValue, _ context: BusContext,
        _ handler: @Sendable (BusRequest) -> Void
    ) {
        let deadline = ContinuousClock.now + context.timeout
        let id = say { $0.serving.insert(reply, deadline: start.duration(to: deadline)) }
        handler(
            BusRequest(subject: subject, data: data, context: context, deadline: deadline) { [self] data in
                let isTooLong = LineWriter.isReplyTooLong(data)
                say { state in
                    // Gone with its deadline, or with the connection.
                    guard let reply = state.serving.take(id) else { return }
                    guard state.pendingBytes < maxPendingBytes else { return refuse(reply, &state) }
                    if isTooLong {
                        LineWriter.reply(reply, .lineTooLong, to: &state.outgoing)
                    } else {
                        LineWriter.reply(reply, data, to: &state.outgoing)
                    }
                }
                drained()
            })
    }

    /// The reply finds no room; a line of sixty bytes that says so has some of its own, above the bound and the longest line
    /// that may stand across it.
    private func refuse(_ reply: UInt64, _ state: inout TCPBusState) {
        guard state.pendingBytes < maxPendingBytes + BusLimits.maxLine + BusLimits.maxRefusalBytes else {
            state.counters.droppedReplies &+= 1
            return
        }
        state.counters.refusedReplies &+= 1
        LineWriter.reply(reply, .slowConsumer, to: &state.outgoing)
    }

    private func giveBack(_ reply: UInt64, _ error: BusError) {
        say { if $0.connection != nil { LineWriter.reply(reply, error, to: &$0.outgoing) } }
    }
}
