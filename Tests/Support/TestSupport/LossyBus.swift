import JSON
import MessageBus
import Synchronization

/// The bus within the process, which loses the events and refuses the subscriptions that the test says, and goes away and returns.
public final class LossyBus: MessageBus {
    private let real = InProcessBus()
    public let keepsKeysTogether: Bool
    private let isLost = Mutex<@Sendable (BusMessage) -> Bool>({ _ in false })

    private let refused = Mutex<String?>(nil)
    private let isReachable = Mutex(true)
    private let watchers = Mutex<[@Sendable (BusState) -> Void]>([])

    public init(keepsKeysTogether: Bool = true) { self.keepsKeysTogether = keepsKeysTogether }

    /// The pattern that cannot be subscribed to from now on; nil: any can.
    public func refuse(_ pattern: String?) { refused.withLock { $0 = pattern } }

    /// Whether an event is lost, asked of each from now on.
    public func lose(_ isLost: @escaping @Sendable (BusMessage) -> Bool) { self.isLost.withLock { $0 = isLost } }

    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        let isLost = isLost.withLock { $0 }
        return payloads.map { payload in
            isLost(BusMessage(subject: subject, payload: payload)) ? nil : real.publish(subject, all: [payload])[0]
        }
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        if refused.withLock({ $0 == pattern }) { throw .badSubject }
        return try real.subscribe(pattern, queue: queue, handler)
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
        real.request(subject, data, context, completion: completion)
    }

    public var isConnected: Bool { isReachable.withLock { $0 } }

    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        watchers.withLock { $0.append(handler) }
        return real.onStateChange { _ in }
    }

    /// Says that the connection is lost, or made again. Events pass nevertheless.
    public func setConnected(_ isConnected: Bool) {
        isReachable.withLock { $0 = isConnected }
        for watcher in watchers.withLock({ $0 }) { watcher(isConnected ? .connected : .disconnected) }
    }

    public func flush() async throws(BusError) { try await real.flush() }
    public func close() async { await real.close() }
}
