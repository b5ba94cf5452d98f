import JSON
import MessageBus
import Synchronization

/// The bus within the process, which loses the events and refuses the subscriptions that the test says.
final class LossyBus: MessageBus {
    private let real = InProcessBus()
    let keepsKeysTogether: Bool
    private let isLost = Mutex<@Sendable (BusMessage) -> Bool>({ _ in false })

    private let refused = Mutex<String?>(nil)

    init(keepsKeysTogether: Bool = true) { self.keepsKeysTogether = keepsKeysTogether }

    /// The pattern that cannot be subscribed to from now on; nil: any can.
    func refuse(_ pattern: String?) { refused.withLock { $0 = pattern } }

    /// Whether an event is lost, asked of each from now on.
    func lose(_ isLost: @escaping @Sendable (BusMessage) -> Bool) { self.isLost.withLock { $0 = isLost } }

    func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        let isLost = isLost.withLock { $0 }
        return payloads.map { payload in
            isLost(BusMessage(subject: subject, payload: payload)) ? nil : real.publish(subject, all: [payload])[0]
        }
    }

    @discardableResult
    func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        if refused.withLock({ $0 == pattern }) { throw .badSubject }
        return try real.subscribe(pattern, queue: queue, handler)
    }

    @discardableResult
    func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        try real.respond(to: pattern, queue: queue, handler)
    }

    func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        real.request(subject, data, context, completion: completion)
    }

    var isConnected: Bool { real.isConnected }

    func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        real.onStateChange(handler)
    }

    func flush() async throws(BusError) { try await real.flush() }
    func close() async { await real.close() }
}
