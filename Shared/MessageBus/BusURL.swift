import Reactor

/// Where the bus is, as a setting says it.
public enum BusURL: Equatable, Sendable {
    /// JSON lines: `tcp://127.0.0.1:4150`, `tcp://[::1]:4150`, `tcp://bus:4150`.
    case tcp(host: String, port: UInt16)

    /// nil if it is none of the forms above.
    public init?(_ text: String) {
        let scheme = "tcp://"
        guard text.hasPrefix(scheme) else { return nil }
        let address = text.dropFirst(scheme.count)
        guard let colon = address.lastIndex(of: ":"), let port = UInt16(address[address.index(after: colon)...]),
            port > 0
        else { return nil }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard !host.isEmpty, host.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }) else {
            return nil
        }
        self = .tcp(host: String(host), port: port)
    }

    /// Connects, and waits for the bus to be there.
    ///
    /// - Parameters:
    ///   - name: says in the bus' logs who this is.
    ///   - onTrouble: told why there is no connection, once for each reason; for the log.
    /// - Throws: `refused` if the bus does not want this peer; `disconnected` if the task is cancelled meanwhile.
    public func connect(
        name: String, token: String?, on loop: EventLoop, maxPendingBytes: Int = BusLimits.defaultMaxPendingBytes,
        onTrouble: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws(BusError) -> any MessageBus {
        switch self {
        case .tcp(let host, let port):
            try await TCPBus.connect(
                host: host, port: port, name: name, token: token, on: loop, maxPendingBytes: maxPendingBytes,
                onTrouble: onTrouble)
        }
    }
}
