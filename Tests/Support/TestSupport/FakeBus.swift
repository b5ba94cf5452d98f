import ParlorJSON
import ParlorMessageBus
import Synchronization

/// The in-process bus with the failures of a network bus, as the test commands.
public final class FakeBus: MessageBus {
    private let real = InProcessBus()
    private struct Warnings: Sendable {
        var publishing: BusError?
        /// The number of payloads of a call that pass although `publishing` is set.
        var passing = 0
        var isLost: (@Sendable (BusMessage) -> Bool)?
        var refusedPattern: String?
        var lostFlushes = 0
        var isConnected = true
        var refusesRequest: (@Sendable (JSONValue) -> Bool)?
        var deadline: Duration?
    }

    private let warnings = Mutex(Warnings())
    private let subscribing = Mutex<@Sendable () -> Void>({})
    private let watchers = Mutex<[@Sendable (BusState) -> Void]>([])
    private let open = Mutex<[String: Int]>([:])

    public let hasKeyAffinity: Bool
    /// The subjects of all requests.
    public let requested = Collector<String>()

    public init(hasKeyAffinity: Bool = true) { self.hasKeyAffinity = hasKeyAffinity }

    /// The patterns with a subscription that has not been cancelled.
    public var openPatterns: [String] { open.withLock { $0.filter { $0.value > 0 }.keys.sorted() } }

    private func opened(_ pattern: String, _ subscription: BusSubscription) -> BusSubscription {
        open.withLock { $0[pattern, default: 0] += 1 }
        return BusSubscription { [self] in
            subscription.cancel()
            open.withLock { $0[pattern, default: 0] -= 1 }
        }
    }

    // MARK: Troubles

    /// Makes `publish` fail from now on; nil: it succeeds.
    public func refusePublishing(_ error: BusError?, after passing: Int = 0) {
        warnings.withLock { ($0.publishing, $0.passing) = (error, passing) }
    }

    /// Refuses requests with such data from now on, as a bus does that cannot read their line.
    public func refuseRequests(_ isRefused: @escaping @Sendable (JSONValue) -> Bool) {
        warnings.withLock { $0.refusesRequest = isRefused }
    }

    /// Gives each request this deadline from now on, in place of its own.
    public func setDeadlines(to deadline: Duration) { warnings.withLock { $0.deadline = deadline } }

    /// Refuses subscriptions to a pattern from now on; nil: accepts all.
    public func refuse(_ pattern: String?) { warnings.withLock { $0.refusedPattern = pattern } }

    /// Drops matching events from now on, without an error.
    public func lose(_ isLost: @escaping @Sendable (BusMessage) -> Bool) { warnings.withLock { $0.isLost = isLost } }

    /// Fails the next flushes, as if the connection were lost during them.
    public func loseConnection(times: Int) { warnings.withLock { $0.lostFlushes = times } }

    /// Reports that the connection is lost, or restored. Events pass nevertheless.
    public func setConnected(_ isConnected: Bool) {
        warnings.withLock { $0.isConnected = isConnected }
        for watcher in watchers.withLock({ $0 }) { watcher(isConnected ? .connected : .disconnected) }
    }

    /// Sets a hook for each `subscribe` from now on, which runs after the subscription and before
    /// its return.
    public func whenSubscribing(_ hook: @escaping @Sendable () -> Void) { subscribing.withLock { $0 = hook } }

    /// Reports a connection that was lost and restored.
    public func bringUp() {
        setConnected(false)
        setConnected(true)
    }

    // MARK: The bus

    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        let warnings = warnings.withLock { $0 }
        if let error = warnings.publishing {
            let passing = payloads.prefix(warnings.passing)
            return real.publish(subject, all: Array(passing)) + payloads.dropFirst(passing.count).map { _ in error }
        }
        guard let isLost = warnings.isLost else { return real.publish(subject, all: payloads) }
        return payloads.map { payload in
            isLost(BusMessage(subject: subject, payload: payload)) ? nil : real.publish(subject, all: [payload])[0]
        }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        if warnings.withLock({ $0.refusedPattern == pattern }) { throw .badSubject }
        let subscription = opened(pattern, try real.subscribe(pattern, queue: queue, handler))
        subscribing.withLock { $0 }()
        return subscription
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        opened(pattern, try real.respond(to: pattern, queue: queue, handler))
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        requested.add(subject)
        if let isRefused = warnings.withLock({ $0.refusesRequest }), isRefused(data) {
            return completion(.failure(.refused("malformed")))
        }
        var context = context
        if let deadline = warnings.withLock({ $0.deadline }) { context.timeout = deadline }
        real.request(subject, data, context, completion: completion)
    }

    public var isConnected: Bool { warnings.withLock { $0.isConnected } }

    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        watchers.withLock { $0.append(handler) }
        return BusSubscription {}
    }

    public func flush() async throws(BusError) {
        let isLost = warnings.withLock { warnings in
            warnings.lostFlushes -= 1
            return warnings.lostFlushes >= 0
        }
        if isLost { throw .disconnected }
        try await real.flush()
    }

    public func close() async { await real.close() }
}
