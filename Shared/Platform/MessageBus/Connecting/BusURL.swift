import ParlorReactor

/// The address of the bus, as given in a setting.
public enum BusURL: Equatable, Sendable {
    /// A broker of JSON lines: `tcp://127.0.0.1:4150`, `tcp://[::1]:4150`, `tcp://bus:4150`.
    case tcp(host: String, port: UInt16)
    /// A NATS server, or several of one cluster.
    case nats(NATSURL)

    /// Parses an address; nil if it has none of the forms above.
    public init?(_ text: String) {
        if let nats = NATSURL(text) {
            self = .nats(nats)
            return
        }
        let scheme = "tcp://"
        guard text.hasPrefix(scheme) else { return nil }
        guard let address = BusAddress(text.dropFirst(scheme.count)) else { return nil }
        self = .tcp(host: address.host, port: address.port)
    }

    /// Connects, and waits until the bus is available.
    ///
    /// - Parameters:
    ///   - name: identifies this peer in the bus's logs.
    ///   - onWarning: receives warnings for the log, such as the reason for a missing connection. Each comes once until
    ///     the next connection.
    /// - Throws: `refused` if the bus rejects this peer; `disconnected` if the task is cancelled
    ///   meanwhile.
    public func connect(
        name: String, token: String?, on loop: EventLoop, maxUnsentBytes: Int = BusLimits.defaultMaxUnsentBytes,
        onWarning: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(BusError) -> any MessageBus {
        switch self {
        case .tcp(let host, let port):
            try await TCPBus.connect(
                host: host, port: port, name: name, token: token, on: loop, maxUnsentBytes: maxUnsentBytes,
                onWarning: onWarning)
        case .nats(let url):
            try await TCPBus.connect(
                to: url.servers, in: NATSWire(credentials: url.credentials(token: token), prefix: url.prefix),
                name: name, on: loop, maxUnsentBytes: maxUnsentBytes, onWarning: onWarning)
        }
    }
}

extension BusURL: CustomStringConvertible {
    /// The address without secrets, for logs.
    public var description: String {
        switch self {
        case .tcp(let host, let port): "tcp://\(BusAddress(host: host, port: port))"
        case .nats(let url): url.description
        }
    }
}
