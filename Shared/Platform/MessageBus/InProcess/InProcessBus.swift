import ParlorJSON
import Synchronization

/// The bus within one process: to send a message is to call the handler, on the publisher's thread.
///
/// It has the guarantees and limits of the buses over a network, so services see no difference. Nothing is
/// encoded.
public final class InProcessBus: MessageBus, DeadlineKeeper {
    private typealias EventHandler = @Sendable (BusMessage) -> Void
    private typealias RequestHandler = @Sendable (BusRequest) -> Void

    private struct Route {
        let handler: RequestHandler
        let id: UInt64
        /// The time for the alarm, if it is earlier than the current one.
        let alarm: Duration?
    }

    private struct State {
        var lastID: UInt64 = 0
        var turn: UInt64 = 0
        var subscribers = SubscriptionIndex<EventHandler>()
        var responders = SubscriptionIndex<RequestHandler>()
        var pending = PendingRequests<@Sendable (Result<any BusPayload, BusError>) -> Void>()
        var watch = ExpiryWatch()
        var isClosed = false
        var drained: [CheckedContinuation<Void, Never>] = []

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let alarm = DeadlineAlarm()

    public init() {}

    public var hasKeyAffinity: Bool { true }

    public var isConnected: Bool { state.withLock { !$0.isClosed } }

    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        guard SubjectGrammar.isSubject(subject) else { return payloads.map { _ in .badSubject } }
        return payloads.map { payload in
            guard !BusLimits.isPublishTooLong(subject, payload) else { return .lineTooLong }
            let message = BusMessage(subject: subject, payload: payload)
            for handler in handlers(of: subject) { handler(message) }
            return nil
        }
    }

    /// Returns the handlers of a subject. Called for each event, as the previous one may have cancelled a
    /// subscription.
    private func handlers(of subject: String) -> [EventHandler] {
        state.withLock { state in
            guard !state.isClosed else { return [] }
            let match = state.subscribers.match(subject)
            guard !match.groups.isEmpty else { return match.everyone }
            state.turn += 1
            return match.everyone + match.groups.map { $0.pick(key: nil, turn: state.turn) }
        }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern), queue.map(SubjectGrammar.isQueue) ?? true else {
            throw .badSubject
        }
        let id = state.withLock { state in
            let id = state.nextID()
            state.subscribers.insert(handler, id: id, pattern: pattern, queue: queue, instance: id)
            return id
        }
        return BusSubscription { [weak self] in self?.state.withLock { $0.subscribers.remove(id) } }
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        guard SubjectGrammar.isPattern(pattern), SubjectGrammar.isQueue(queue) else { throw .badSubject }
        let id = state.withLock { state in
            let id = state.nextID()
            state.responders.insert(handler, id: id, pattern: pattern, queue: queue, instance: id)
            return id
        }
        return BusSubscription { [weak self] in self?.state.withLock { $0.responders.remove(id) } }
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        guard SubjectGrammar.isSubject(subject) else { return completion(.failure(.badSubject)) }
        guard !BusLimits.isRequestTooLong(subject, data, context) else {
            return completion(.failure(.lineTooLong))
        }
        let now = ContinuousClock.now
        let deadline = now + context.timeout
        let route = state.withLock { state -> Result<Route, BusError> in
            guard !state.isClosed else { return .failure(.disconnected) }
            guard let group = state.responders.match(subject).groups.first else { return .failure(.noResponders) }
            state.turn += 1
            let handler = group.pick(key: context.key.map(RendezvousHash.hash), turn: state.turn)
            let id = state.pending.insert(completion, deadline: start.duration(to: deadline))
            return .success(Route(handler: handler, id: id, alarm: state.watch.move(to: state.pending.nextExpiry)))
        }
        switch route {
        case .failure(let error): completion(.failure(error))
        case .success(let route):
            if let due = route.alarm { alarm.set(start + due, for: self) }
            route.handler(
                BusRequest(subject: subject, data: data, context: context, deadline: deadline) { [weak self] reply in
                    self?.finish(route.id, reply)
                })
        }
    }

    private func finish(_ id: UInt64, _ reply: any BusPayload) {
        let isTooLong = BusLimits.isReplyTooLong(reply)
        let completion = state.withLock { $0.pending.take(id) }
        completion?(isTooLong ? .failure(.lineTooLong) : .success(reply))
        resumeIfDrained()
    }

    /// Does nothing: there is no connection to lose, so the handler is never called.
    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        BusSubscription {}
    }

    /// Returns at once, as nothing is ever in transit.
    public func flush() async throws(BusError) {
        guard isConnected else { throw .disconnected }
    }

    public func close() async {
        await withCheckedContinuation { continuation in
            state.withLock { state in
                state.isClosed = true
                state.drained.append(continuation)
            }
            resumeIfDrained()
        }
    }

    private func resumeIfDrained() {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            guard state.isClosed, state.pending.isEmpty else { return [] }
            defer { state.drained = [] }
            return state.drained
        }
        for continuation in waiting { continuation.resume() }
    }

    package func expire() -> ContinuousClock.Instant? {
        let now = start.duration(to: .now)
        let (late, next) = state.withLock { state in
            state.watch.end()
            return (state.pending.expire(at: now), state.watch.move(to: state.pending.nextExpiry))
        }
        for completion in late { completion(.failure(.deadlineExceeded)) }
        if !late.isEmpty { resumeIfDrained() }
        return next.map { start + $0 }
    }
}
