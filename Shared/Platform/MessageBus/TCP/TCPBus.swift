import ParlorJSON
import ParlorReactor
import Synchronization

/// The bus over one TCP connection to a broker, in the broker's own protocol: `JSONLines` or `NATSWire`.
///
/// Calls from any thread append to the output; the loop sends it once a turn (`TCPBusLink`).
///
/// The connection lives until `close()`, even if this object is released.
public final class TCPBus: MessageBus {
    typealias Completion = @Sendable (Result<any BusPayload, BusError>) -> Void

    /// The bytes of events that are published under one lock; the last event may exceed it.
    private static let publishedAtOnce = 256 * 1024

    private let link: TCPBusLink
    private let wire: any BusWire

    /// Connects to a `parlor-bus`, and waits until it is available; see `BusURL.connect`.
    public static func connect(
        host: String, port: UInt16, name: String, token: String?, on loop: EventLoop,
        maxUnsentBytes: Int = BusLimits.defaultMaxUnsentBytes,
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(BusError) -> TCPBus {
        try await connect(
            to: [BusAddress(host: host, port: port)], in: JSONLines(token: token), name: name, on: loop,
            maxUnsentBytes: maxUnsentBytes, onWarning: onWarning)
    }

    /// - Parameter servers: at least one, tried in turn.
    static func connect(
        to servers: [BusAddress], in wire: any BusWire, name: String, on loop: EventLoop, maxUnsentBytes: Int,
        onWarning: @escaping @Sendable (String) -> Void
    ) async throws(BusError) -> TCPBus {
        let link = TCPBusLink(
            servers, wire, name: name, on: loop, maxUnsentBytes: maxUnsentBytes, onWarning: onWarning)
        let outcome: Result<Void, BusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                link.state.withLock { $0.firstConnection = { continuation.resume(returning: $0) } }
                link.attempt()
                if Task.isCancelled { link.giveUp(.disconnected) }
            }
        } onCancel: {
            link.giveUp(.disconnected)
        }
        try outcome.get()
        return TCPBus(link)
    }

    private init(_ link: TCPBusLink) {
        self.link = link
        wire = link.wire
    }

    public var hasKeyAffinity: Bool { wire.hasKeyAffinity }

    public var isConnected: Bool { link.state.withLock { $0.connection != nil } }
    public var counters: TCPBusCounters { link.state.withLock { $0.counters } }

    // MARK: - Sending

    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        guard SubjectGrammar.isSubject(subject) else { return payloads.map { _ in .badSubject } }
        var refusals: [BusError?] = []
        var piece: [(data: JSONValue, isTooLong: Bool)] = []
        var bytes = 0
        for payload in payloads {
            let data = payload.json
            piece.append((data, BusLimits.isPublishTooLong(subject, data)))
            bytes += data.bytes.count
            guard bytes >= Self.publishedAtOnce else { continue }
            refusals += publish(subject, piece)
            (piece, bytes) = ([], 0)
        }
        return piece.isEmpty ? refusals : refusals + publish(subject, piece)
    }

    /// Publishes events under one lock. Taking the lock for each event would pass it back and forth between this
    /// thread and the loop. Taking it once for a long list would keep the loop from sending meanwhile, so that the
    /// queue could reach its limit.
    private func publish(_ subject: String, _ piece: [(data: JSONValue, isTooLong: Bool)]) -> [BusError?] {
        link.update { state in
            piece.map { event in
                guard !event.isTooLong else { return .lineTooLong }
                guard state.connection != nil else {
                    state.counters.droppedEvents += 1
                    return nil
                }
                guard state.unsentBytes < link.maxUnsentBytes else { return .slowConsumer }
                return state.append { wire.publish(subject, event.data, to: &$0) } ? nil : .lineTooLong
            }
        }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern), queue.map(SubjectGrammar.isQueue) ?? true else {
            throw .badSubject
        }
        return subscribe(.events(pattern: pattern, queue: queue, handler))
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern), SubjectGrammar.isQueue(queue) else { throw .badSubject }
        return subscribe(.requests(pattern: pattern, queue: queue, handler))
    }

    private func subscribe(_ subscription: TCPBusSubscription) -> BusSubscription {
        let id = link.update { $0.add(subscription) }
        return BusSubscription { [weak link = link] in link?.update { $0.removeSubscription(id) } }
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        guard SubjectGrammar.isSubject(subject) else { return completion(.failure(.badSubject)) }
        guard !BusLimits.isRequestTooLong(subject, data, context) else { return completion(.failure(.lineTooLong)) }
        let deadline = link.now + context.timeout
        let failure: BusError? = link.update { state in
            guard state.connection != nil else { return .disconnected }
            guard state.unsentBytes < link.maxUnsentBytes else { return .slowConsumer }
            let mayBeRepeated =
                context.isRepeatable && !wire.reportsLostResponders && context.timeout > TCPBusLink.maxWait
            let repeatable =
                mayBeRepeated
                ? TCPBusState.Repeatable(subject: subject, data: data, context: context, deadline: deadline) : nil
            let id = state.asked.insert(.init(completion: completion, repeatable: repeatable), deadline: deadline)
            if mayBeRepeated {
                state.repeats.earn()
                state.repeatRequest(id, at: deadline - context.timeout + TCPBusLink.maxWait)
            }
            guard state.append({ wire.request(id, subject, data, context, to: &$0) }) else {
                _ = state.takeAsked(id)
                return .lineTooLong
            }
            return nil
        }
        if let failure { completion(.failure(failure)) }
    }

    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        let id = link.state.withLock { state in
            state.lastID += 1
            state.watchers[state.lastID] = handler
            return state.lastID
        }
        return BusSubscription { [weak link = link] in link?.state.withLock { $0.watchers[id] = nil } }
    }

    public func flush() async throws(BusError) {
        let outcome: Result<Void, BusError> = await withCheckedContinuation { continuation in
            let isSent = link.update { state in
                guard state.connection != nil else { return false }
                state.pongs.append { continuation.resume(returning: $0) }
                wire.ping(to: &state.outgoing)
                return true
            }
            if !isSent { continuation.resume(returning: .failure(.disconnected)) }
        }
        try outcome.get()
    }

    // MARK: - Closing

    public func close() async {
        if !wire.reportsLostResponders {
            link.update { $0.removeAllSubscriptions() }
            // The broker may have sent requests before it processed the end of the subscriptions. Until its pong,
            // requests are answered with `noResponders`: nothing else would inform their senders. Without a connection
            // there is nothing to wait for.
            try? await flush()
        }
        await withCheckedContinuation { continuation in
            link.update { state in
                state.removeAllSubscriptions()
                state.drainWaiters.append(continuation)
            }
            link.drained()
        }
    }
}
