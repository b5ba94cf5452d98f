import JSON

// What the broker says. On the loop only.
extension TCPBus {
    func heard(_ word: BusWord) {
        switch word {
        case .event(let subscription, let message):
            if case .events(_, _, let handler) = state.withLock({ $0.subscriptions[subscription] }) { handler(message) }
        case .request(let subscription, let address, let subject, let data, let context):
            guard case .requests(_, _, let handler) = state.withLock({ $0.subscriptions[subscription] }) else {
                // It was cancelled while this was on its way.
                return giveBack(address, .noResponders)
            }
            serve(address, subject, data, context, handler)
        case .reply(let id, .failure(.noResponders)) where isAskedAgain(id):
            // Of a repetition. Whoever took the first may be about to answer; and if not, somebody may be there again.
            let again = start.duration(to: .now) + Self.patience
            say { $0.repeatQuestion(id, at: again) }
        case .reply(let id, let result):
            state.withLock { $0.takeAsked(id) }?.completion(result.map { $0 as any BusPayload })
            drained()
        case .pong: state.withLock { $0.pongs.isEmpty ? nil : $0.pongs.removeFirst() }?(.success(()))
        case .servers(let addresses): state.withLock { $0.servers.learn(addresses) }
        case .complaint(let text): trouble("the bus says: \(text)")
        case .malformed(let address):
            countMalformed()
            if let address { giveBack(address, .refused("malformed")) }
        // Of the connection, not of the bus.
        case .answer, .welcome, .refusal: countMalformed()
        }
    }

    private func isAskedAgain(_ id: UInt64) -> Bool {
        state.withLock { $0.asked[id]?.question?.isRepeated ?? false }
    }

    func countMalformed() { state.withLock { $0.counters.malformedLines &+= 1 } }

    private func serve(
        _ address: ReplyAddress, _ subject: String, _ data: JSONValue, _ context: BusContext,
        _ handler: @Sendable (BusRequest) -> Void
    ) {
        let deadline = ContinuousClock.now + context.timeout
        let id = say { $0.serving.insert(address, deadline: start.duration(to: deadline)) }
        handler(
            BusRequest(subject: subject, data: data, context: context, deadline: deadline) { [self] payload in
                let data = payload.json
                let isTooLong = LineWriter.isReplyTooLong(data)
                say { state in
                    // Gone with its deadline, or with the connection.
                    guard let address = state.serving.take(id) else { return }
                    guard state.pendingBytes < maxPendingBytes else { return refuse(address, &state) }
                    if isTooLong || !state.append({ wire.reply(address, data, to: &$0) }) {
                        wire.reply(address, .lineTooLong, to: &state.outgoing)
                    }
                }
                drained()
            })
    }

    /// The reply finds no room; a line of sixty bytes that says so has some of its own, above the bound and the longest line
    /// that may stand across it.
    private func refuse(_ address: ReplyAddress, _ state: inout TCPBusState) {
        guard state.pendingBytes < maxPendingBytes + BusLimits.maxLine + BusLimits.maxRefusalBytes else {
            state.counters.droppedReplies &+= 1
            return
        }
        state.counters.refusedReplies &+= 1
        wire.reply(address, .slowConsumer, to: &state.outgoing)
    }

    private func giveBack(_ address: ReplyAddress, _ error: BusError) {
        say { if $0.connection != nil { wire.reply(address, error, to: &$0.outgoing) } }
    }
}
