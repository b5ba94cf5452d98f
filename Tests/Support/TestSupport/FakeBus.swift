import JSON
import MessageBus
import Synchronization

/// The bus within the process, with the troubles that one over a network has: a test says when.
public final class FakeBus: MessageBus {
    private let real = InProcessBus()
    private let lostFlushes = Mutex(0)
    private struct Refusal: Sendable {
        var error: BusError?
        /// How many payloads of a call pass nevertheless.
        var passing = 0
    }

    private let refusal = Mutex(Refusal())
    private let isReachable = Mutex(true)
    private let subscribing = Mutex<@Sendable () -> Void>({})
    private let watchers = Mutex<[@Sendable (BusState) -> Void]>([])

    public init() {}

    /// The subjects of all requests.
    public let requested = Collector<String>()

    /// Why `publish` sends nothing from now on; nil: it does.
    public func refusePublishing(_ error: BusError?, after passing: Int = 0) {
        refusal.withLock { $0 = Refusal(error: error, passing: passing) }
    }

    /// What `isConnected` says from now on.
    public func setConnected(_ isConnected: Bool) { isReachable.withLock { $0 = isConnected } }

    /// Called in each `subscribe` from now on, when the subscription stands and the caller has yet to get it.
    public func whenSubscribing(_ hook: @escaping @Sendable () -> Void) { subscribing.withLock { $0 = hook } }

    /// As if the connection had been lost and made again.
    public func comeBack() {
        for state in [BusState.disconnected, .connected] {
            for watcher in watchers.withLock({ $0 }) { watcher(state) }
        }
    }

    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        let refusal = refusal.withLock { $0 }
        guard let error = refusal.error else { return real.publish(subject, all: payloads) }
        let passing = payloads.prefix(refusal.passing)
        return real.publish(subject, all: Array(passing)) + payloads.dropFirst(passing.count).map { _ in error }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        let subscription = try real.subscribe(pattern, queue: queue, handler)
        subscribing.withLock { $0 }()
        return subscription
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        try real.respond(to: pattern, queue: queue, handler)
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        requested.add(subject)
        real.request(subject, data, context, completion: completion)
    }

    public var keepsKeysTogether: Bool { real.keepsKeysTogether }
    public var isConnected: Bool { isReachable.withLock { $0 } }

    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        watchers.withLock { $0.append(handler) }
        return BusSubscription {}
    }

    /// The next flushes fail, as if the connection were lost in them.
    public func loseConnection(times: Int) { lostFlushes.withLock { $0 = times } }

    public func flush() async throws(BusError) {
        let isLost = lostFlushes.withLock { count in
            count -= 1
            return count >= 0
        }
        if isLost { throw .disconnected }
        try await real.flush()
    }
    public func close() async { await real.close() }
}
