import ParlorJSON

/// A bus that passes everything on to another one, except for what it implements itself.
public protocol ForwardingBus: MessageBus {
    var bus: any MessageBus { get }
}

extension ForwardingBus {
    public func publish(_ subject: String, all payloads: [any BusPayload]) -> [BusError?] {
        bus.publish(subject, all: payloads)
    }

    @discardableResult
    public func subscribe(
        _ pattern: String, queue: String?, _ handler: @escaping @Sendable (BusMessage) -> Void
    ) throws(BusError) -> BusSubscription {
        try bus.subscribe(pattern, queue: queue, handler)
    }

    @discardableResult
    public func respond(
        to pattern: String, queue: String, _ handler: @escaping @Sendable (BusRequest) -> Void
    ) throws(BusError) -> BusSubscription {
        try bus.respond(to: pattern, queue: queue, handler)
    }

    public func request(
        _ subject: String, _ data: JSONValue, _ context: BusContext,
        completion: @escaping @Sendable (Result<any BusPayload, BusError>) -> Void
    ) {
        bus.request(subject, data, context, completion: completion)
    }

    public var hasKeyAffinity: Bool { bus.hasKeyAffinity }
    public var isConnected: Bool { bus.isConnected }

    @discardableResult
    public func onStateChange(_ handler: @escaping @Sendable (BusState) -> Void) -> BusSubscription {
        bus.onStateChange(handler)
    }

    public func flush() async throws(BusError) { try await bus.flush() }
    public func close() async { await bus.close() }
}
