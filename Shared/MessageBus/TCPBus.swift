import JSON
import Reactor
import Synchronization

/// The bus over one TCP connection to a broker, in JSON lines (Services/Bus/PROTOCOL.md).
///
/// Calls come from any thread and append to what waits; the loop sends it once a turn. When the connection is lost it is
/// made again, for ever, and the subscriptions are made again before anything else is said.
///
/// It lives until `close()`.
public final class TCPBus: MessageBus {
    typealias Completion = @Sendable (Result<JSONValue, BusError>) -> Void

    let loop: EventLoop
    let name: String
    let token: String?
    let host: String
    let port: UInt16
    let maxPendingBytes: Int
    let onTrouble: @Sendable (String) -> Void
    let start = ContinuousClock.now
    let state = Mutex(TCPBusState())

    /// Connects, and waits for the bus to be there; see `BusURL.connect`.
    public static func connect(
        host: String, port: UInt16, name: String, token: String?, on loop: EventLoop,
        maxPendingBytes: Int = BusLimits.defaultMaxPendingBytes,
        onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(BusError) -> TCPBus {
        let bus = TCPBus(
            host: host, port: port, name: name, token: token, on: loop, maxPendingBytes: maxPendingBytes,
            onTrouble: onTrouble)
        let outcome: Result<Void, BusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                bus.state.withLock { $0.firstConnection = { continuation.resume(returning: $0) } }
                bus.attempt()
                if Task.isCancelled { bus.giveUp(.disconnected) }
            }
        } onCancel: {
            bus.giveUp(.disconnected)
        }
        try outcome.get()
        return bus
    }

    private init(
        host: String, port: UInt16, name: String, token: String?, on loop: EventLoop, maxPendingBytes: Int,
        onTrouble: @escaping @Sendable (String) -> Void
    ) {
        self.host = host
        self.port = port
        self.name = name
        self.token = token
        self.loop = loop
        self.maxPendingBytes = maxPendingBytes
        self.onTrouble = onTrouble
    }

    public var isConnected: Bool { state.withLock { $0.connection != nil } }
    public var counters: TCPBusCounters { state.withLock { $0.counters } }

    // MARK: - Saying

    /// Changes the state, and has the loop send what that left to be sent.
    func say<T: Sendable>(_ change: (inout TCPBusState) -> T) -> T {
        let (result, connection) = state.withLock { state in
            let result = change(&state)
            return (result, state.connectionToFlush())
        }
        if let connection { loop.execute { connection.object.flush() } }
        return result
    }

    public func publish(_ subject: String, _ data: JSONValue) throws(BusError) {
        guard SubjectGrammar.isSubject(subject.utf8) else { throw .badSubject }
        guard !LineWriter.isPublishTooLong(subject, data) else { throw .lineTooLong }
        let isSent = say { state in
            guard state.connection != nil else {
                state.counters.droppedEvents &+= 1
                return true
            }
            guard state.pendingBytes < maxPendingBytes else { return false }
            LineWriter.publish(subject, data, to: &state.outgoing)
            return true
        }
        if !isSent { throw .slowConsumer }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern.utf8), queue.map({ SubjectGrammar.isQueue($0.utf8) }) ?? true else {
            throw .badSubject
        }
        return subscribe(.events(pattern: pattern, queue: queue, handler))
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern.utf8), SubjectGrammar.isQueue(queue.utf8) else { throw .badSubject }
        return subscribe(.requests(pattern: pattern, queue: queue, handler))
    }

    private func subscribe(_ subscription: TCPBusSubscription) -> BusSubscription {
        let id = say { $0.add(subscription) }
        return BusSubscription { [weak self] in self?.say { $0.removeSubscription(id) } }
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<JSONValue, BusError>) -> Void
    ) {
        guard SubjectGrammar.isSubject(subject.utf8) else { return completion(.failure(.badSubject)) }
        guard !LineWriter.isRequestTooLong(subject, data, context) else { return completion(.failure(.lineTooLong)) }
        let deadline = start.duration(to: .now) + context.timeout
        let failure: BusError? = say { state in
            guard state.connection != nil else { return .disconnected }
            guard state.pendingBytes < maxPendingBytes else { return .slowConsumer }
            let id = state.asked.insert(completion, deadline: deadline)
            LineWriter.request(id, subject, data, context, to: &state.outgoing)
            return nil
        }
        if let failure { completion(.failure(failure)) }
    }

    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        let id = state.withLock { state in
            state.lastID += 1
            state.watchers[state.lastID] = handler
            return state.lastID
        }
        return BusSubscription { [weak self] in self?.state.withLock { $0.watchers[id] = nil } }
    }

    public func flush() async throws(BusError) {
        let outcome: Result<Void, BusError> = await withCheckedContinuation { continuation in
            let isSent = say { state in
                guard state.connection != nil else { return false }
                state.pongs.append { continuation.resume(returning: $0) }
                LineWriter.ping(to: &state.outgoing)
                return true
            }
            if !isSent { continuation.resume(returning: .failure(.disconnected)) }
        }
        try outcome.get()
    }

    // MARK: - Closing

    public func close() async {
        await withCheckedContinuation { continuation in
            say { state in
                state.removeAllSubscriptions()
                state.drainWaiters.append(continuation)
            }
            drained()
        }
    }

    /// Goes on with `close()` when nothing is under way any more, and ends it when the connection is gone.
    func drained() {
        let step = state.withLock { $0.nextClosingStep() }
        switch step {
        case .none: break
        case .close(let connection): loop.execute { connection.object.close() }
        case .resume(let waiters): for waiter in waiters { waiter.resume() }
        }
    }
}
