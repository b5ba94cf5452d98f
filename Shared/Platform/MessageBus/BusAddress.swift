/// A broker's host and port.
public struct BusAddress: Hashable, Sendable, CustomStringConvertible {
    public let host: String
    public let port: UInt16

    public init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Parses `127.0.0.1:4150`, `[::1]:4150` or `bus:4150`.
    ///
    /// - Parameter defaultPort: the port of a text without one; nil if the port is required.
    init?(_ text: some StringProtocol, defaultPort: UInt16? = nil) {
        var host = Substring(text)
        var port = defaultPort
        // Inside brackets a colon is part of the address.
        if let colon = host.lastIndex(of: ":"), !host[colon...].contains("]") {
            port = UInt16(host[host.index(after: colon)...])
            host = host[..<colon]
        }
        guard let port, port > 0 else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        let isPlain = host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "/") }
        guard !host.isEmpty, isPlain else { return nil }
        self.init(host: String(host), port: port)
    }

    public var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}

/// The servers of one bus, from the setting and from a server's own announcements. They are tried in turn.
struct BusServers {
    /// The limit of announced servers. A cluster has a handful.
    static let maxLearned = 64

    private let configured: [BusAddress]
    private var learned: [BusAddress] = []
    private var turn = 0

    /// - Parameter addresses: at least one.
    init(_ addresses: [BusAddress]) {
        precondition(!addresses.isEmpty, "a bus without a server")
        configured = addresses
    }

    mutating func next() -> BusAddress {
        let all = configured + learned
        defer { turn = (turn + 1) % all.count }
        return all[turn % all.count]
    }

    mutating func learn(_ addresses: [BusAddress]) {
        learned = Array(addresses.filter { !configured.contains($0) }.prefix(Self.maxLearned))
    }
}

/// The wait before each later attempt to connect. It doubles from 50 ms to a second. Up to half of it is random, so
/// that the clients of a bus that restarts do not reconnect at the same instant.
struct Backoff {
    static let first: Duration = .milliseconds(50)
    static let longest: Duration = .seconds(1)

    private var ceiling = first

    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        defer { ceiling = min(ceiling * 2, Self.longest) }
        return ceiling * Double.random(in: 0.5...1, using: &random)
    }

    mutating func reset() { ceiling = Self.first }
}
