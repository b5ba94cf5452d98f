import ParlorJSON
import ParlorReactor
import Synchronization

/// The link of a `TCPBus` to its broker: connects, reconnects and handles the broker's messages. On the loop,
/// except for `update`, `drained`, `giveUp`, a reply, and the first attempt.
///
/// It reconnects without limit, and repeats the subscriptions before anything else is sent.
final class TCPBusLink: Sendable {
    /// The time after which a read-only request without a reply is sent again, if the bus does not report
    /// lost responders.
    static let maxWait: Duration = .seconds(1)

    let loop: EventLoop
    let name: String
    let wire: any BusWire
    let maxUnsentBytes: Int
    private let onWarning: @Sendable (String) -> Void
    private let start = ContinuousClock.now
    let state: Mutex<TCPBusState>

    /// - Parameter servers: at least one, tried in turn.
    init(
        _ servers: [BusAddress], _ wire: any BusWire, name: String, on loop: EventLoop, maxUnsentBytes: Int,
        onWarning: @escaping @Sendable (String) -> Void
    ) {
        state = Mutex(TCPBusState(BusServers(servers), wire))
        self.wire = wire
        self.name = name
        self.loop = loop
        self.maxUnsentBytes = maxUnsentBytes
        self.onWarning = onWarning
    }

    /// The current time on the scale of deadlines.
    var now: Duration { start.duration(to: .now) }

    // MARK: - Sending

    /// Changes the state, and makes the loop send the resulting output. From any thread.
    func update<T: Sendable>(_ change: (inout TCPBusState) -> T) -> T {
        let (result, connection) = state.withLock { state in
            let result = change(&state)
            return (result, state.connectionToFlush())
        }
        connection?.enqueue { $0.flush() }
        return result
    }

    /// Takes the bytes to send now. Also returns the time until `expire` must be called, if the connection's timer
    /// is not set for it yet. The connection reports when the kernel has taken the bytes.
    func takeOutgoing(for connection: LoopBound<TCPBusConnection>) -> (bytes: [UInt8], expiry: Duration?) {
        let (bytes, expiry) = state.withLock { $0.takeOutgoing(for: connection) }
        return (bytes, expiry.map { $0 - now })
    }

    func sent(stillUnsent count: Int) { state.withLock { $0.unsent = count } }

    func expire() {
        let now = now
        let late = update { state in
            state.watch.end()
            _ = state.serving.expire(at: now)
            let late = state.asked.expire(at: now)
            for id in state.unanswered.expire(at: now) { askAgain(id, at: now, &state) }
            return late.map(\.completion)
        }
        for completion in late { completion(.failure(.deadlineExceeded)) }
        drained()
    }

    /// Repeats a request under the same number: the first reply ends it, and a second one is ignored.
    private func askAgain(_ id: UInt64, at now: Duration, _ state: inout TCPBusState) {
        guard let repeatable = state.asked[id]?.repeatable, state.unsentBytes < maxUnsentBytes,
            state.repeats.take()
        else { return }
        var context = repeatable.context
        context.timeout = repeatable.deadline - now
        // The result is ignored: the same line was short enough the first time.
        _ = state.append { wire.request(id, repeatable.subject, repeatable.data, context, to: &$0) }
        state.asked.update(id) { $0.repeatable?.isRepeated = true }
        state.counters.repeatedRequests += 1
    }

    // MARK: - The connection

    func pingIfIdle() {
        update { state in
            state.pongs.append { _ in }
            wire.ping(to: &state.outgoing)
        }
    }

    /// Handles the broker's welcome: sends all subscriptions first, then allows other output.
    ///
    /// - Returns: false if the bus was closed meanwhile.
    func connected(_ connection: LoopBound<TCPBusConnection>, _ welcome: BusWelcome) -> Bool {
        let opened = update {
            state -> (watchers: [@Sendable (BusState) -> Void], first: TCPBusState.FirstConnection?)? in
            guard !state.isClosed else { return nil }
            return (Array(state.watchers.values), state.connect(connection, welcome))
        }
        guard let opened else { return false }
        if let longest = welcome.maxMessage {
            warn(
                "the bus accepts \(longest) bytes in a message, and Parlor's may have \(BusLimits.maxLine)")
        }
        if let first = opened.first {
            first(.success(()))
        } else {
            for watcher in opened.watchers { watcher(.connected) }
        }
        return true
    }

    /// - Parameter refusal: the broker's reason, if it refused this peer.
    func disconnected(from address: BusAddress, refusal: String?) {
        let lost = state.withLock { $0.disconnect() }
        for completion in lost.asked { completion(.failure(.disconnected)) }
        for pong in lost.pongs { pong(.failure(.disconnected)) }
        for watcher in lost.watchers { watcher(.disconnected) }
        if let refusal {
            warn("the bus at \(address) refuses us: \(refusal)")
            giveUp(.refused(refusal))
        } else {
            warn("no connection to the bus at \(address)")
        }
        drained()
        retry()
    }

    func attempt() {
        let address = state.withLock { $0.servers.next() }
        // On the loop: reconnecting must not wait for a shared pool that is busy.
        Task(executorPreference: loop) { [self] in
            do throws(ConnectError) {
                try await loop.connect(host: address.host, port: address.port, timeout: .seconds(5)) { channel in
                    TCPBusConnection(channel, to: address, link: self)
                }
            } catch {
                warn("no connection to the bus at \(address): \(error)")
                loop.execute { self.retry() }
            }
        }
    }

    private func retry() {
        let delay = state.withLock { state -> Duration? in
            guard !state.isClosed else { return nil }
            var random = SystemRandomNumberGenerator()
            return state.backoff.next(using: &random)
        }
        if let delay { loop.schedule(after: delay) { self.attempt() } }
    }

    /// Reports each warning once until the next connection.
    func warn(_ reason: String) {
        if state.withLock({ $0.note(warning: reason) }) { onWarning(reason) }
    }

    /// Ends a bus that has never been connected; does nothing otherwise.
    func giveUp(_ error: BusError) {
        let first = state.withLock { state in
            guard let first = state.firstConnection else { return nil as TCPBusState.FirstConnection? }
            state.firstConnection = nil
            state.isClosed = true
            return first
        }
        first?(.failure(error))
    }

    /// Continues `TCPBus.close()` when nothing is in progress any more, and ends it when the connection is
    /// closed. From any thread.
    func drained() {
        let step = state.withLock { $0.nextClosingStep() }
        switch step {
        case .none: break
        case .close(let connection): connection.enqueue { $0.close() }
        case .resume(let waiters): for waiter in waiters { waiter.resume() }
        }
    }

    // MARK: - Messages of the broker

    func handle(_ message: BrokerMessage) {
        switch message {
        case .event(let subscription, let message):
            if case .events(_, _, let handler) = state.withLock({ $0.subscriptions[subscription] }) { handler(message) }
        case .request(let subscription, let address, let subject, let data, let context):
            guard case .requests(_, _, let handler) = state.withLock({ $0.subscriptions[subscription] }) else {
                // The subscription was cancelled while the request was in transit.
                return giveBack(address, .noResponders)
            }
            serve(address, subject, data, context, handler)
        case .reply(let id, .failure(.noResponders)) where isAskedAgain(id):
            // The repetition has no responder. The responder of the first request may be about to reply;
            // otherwise, a responder may be there again later.
            let again = now + Self.maxWait
            update { $0.repeatRequest(id, at: again) }
        case .reply(let id, let result):
            state.withLock { $0.takeAsked(id) }?.completion(result.map { $0 as any BusPayload })
            drained()
        case .pong:
            let (pong, refusal) = state.withLock { state in
                (state.pongs.isEmpty ? nil : state.pongs.removeFirst(), state.refusedToServe)
            }
            pong?(refusal.map { .failure(.refused($0)) } ?? .success(()))
        case .servers(let addresses): state.withLock { $0.servers.learn(addresses) }
        case .complaint(let text): warn("the bus says: \(text)")
        case .subscriptionRefused(let id, let text):
            warn("the bus says: \(text)")
            state.withLock { if case .requests = $0.subscriptions[id] { $0.refusedToServe = text } }
        case .malformed(let address):
            countMalformed()
            if let address { giveBack(address, .refused("malformed")) }
        // These belong to the connection, not to the bus.
        case .answer, .welcome, .refusal: countMalformed()
        }
    }

    private func isAskedAgain(_ id: UInt64) -> Bool {
        state.withLock { $0.asked[id]?.repeatable?.isRepeated ?? false }
    }

    func countMalformed() { state.withLock { $0.counters.malformedLines += 1 } }

    private func serve(
        _ address: ReplyAddress, _ subject: String, _ data: JSONValue, _ context: BusContext,
        _ handler: @Sendable (BusRequest) -> Void
    ) {
        let deadline = ContinuousClock.now + context.timeout
        let id = update { $0.serving.insert(address, deadline: start.duration(to: deadline)) }
        handler(
            BusRequest(subject: subject, data: data, context: context, deadline: deadline) { [self] payload in
                let data = payload.json
                let isTooLong = BusLimits.isReplyTooLong(data)
                update { state in
                    // The request is gone if its deadline passed or the connection was lost.
                    guard let address = state.serving.take(id) else { return }
                    guard state.unsentBytes < maxUnsentBytes else { return refuse(address, &state) }
                    if isTooLong || !state.append({ wire.reply(address, data, to: &$0) }) {
                        wire.reply(address, .lineTooLong, to: &state.outgoing)
                    }
                }
                drained()
            })
    }

    /// Sends a line of sixty bytes in place of a reply for which the queue has no room. For such lines the queue may
    /// grow by `maxRefusalBytes` more, on top of its limit and the one line that may cross it.
    private func refuse(_ address: ReplyAddress, _ state: inout TCPBusState) {
        guard state.unsentBytes < maxUnsentBytes + BusLimits.maxLine + BusLimits.maxRefusalBytes else {
            state.counters.droppedReplies += 1
            return
        }
        state.counters.refusedReplies += 1
        wire.reply(address, .slowConsumer, to: &state.outgoing)
    }

    private func giveBack(_ address: ReplyAddress, _ error: BusError) {
        update { if $0.connection != nil { wire.reply(address, error, to: &$0.outgoing) } }
    }
}
