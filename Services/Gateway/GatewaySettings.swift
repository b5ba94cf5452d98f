import ParlorContracts
import ParlorDelivery
import ParlorEdge
import ParlorGatewayCatalog
import ParlorGatewayLimits
import ParlorReactor
import ParlorServiceKit

/// The gateway's settings.
enum GatewaySettings {
    static let globalScope = Setting(
        "GLOBAL_SCOPE", .choice(GlobalScope.self), default: "everyone", in: .people,
        "Receivers of `:global` events: everyone (all connected sockets) or participants (of the room)")
    static let pingInterval = Setting(
        "PING_INTERVAL", .duration(.milliseconds(100)...(.seconds(3600))), default: "25s", in: .listen,
        "Interval between pings to a socket; above 30s, push may notify people who have the room open")
    static let pingTimeout = Setting(
        "PING_TIMEOUT", .duration(.milliseconds(100)...(.seconds(3600))), default: "20s", in: .tuning,
        "How long a client may take to answer a ping")
    static let requestTimeout = Setting(
        "REQUEST_TIMEOUT", .duration(.milliseconds(100)...(.seconds(60))), default: "4s", in: .tuning,
        "Deadline of a request; after it the answer is 503, or an ack marked retryable")
    /// The minimum leaves room for a replay: its backlog, what is replayed from memory, and a large event (an element
    /// of 64 KiB).
    static let maxUnsentBytes = Setting(
        "MAX_PENDING_BYTES", .size((256 << 10)...(1 << 30)), default: "1m", in: .limits,
        "Maximum bytes queued for one socket, 16 times that while it reads; beyond it the slow reader is disconnected")
    static let idleTimeout = Setting(
        "IDLE_TIMEOUT", .duration(.seconds(1)...(.seconds(3600))), default: "75s", in: .listen,
        "How long a connection may be idle between two requests; longer than the proxy in front keeps it")
    static let maxConnections = Setting(
        "MAX_CONNECTIONS", .number(1...1_000_000), in: .limits, unset: "auto",
        "Maximum open connections; auto: as descriptors and memory allow")
    static let maxConnectionsPerAddress = Setting(
        "MAX_CONNECTIONS_PER_ADDRESS", .number(1...1_000_000), in: .tuning, unset: "auto",
        "Maximum connections of one address that have no connected socket; auto: a quarter of all, at most 1000")
    static let maxSocketsPerAddress = Setting(
        "MAX_SOCKETS_PER_ADDRESS", .number(1...1_000_000), in: .tuning, unset: "auto",
        "Maximum connected sockets of one address; others count as connections without one; auto: a quarter of the connections"
    )
    static let maxBufferedBytes = Setting(
        "MAX_BUFFERED_BYTES", .size(1...(1 << 40)), in: .limits, unset: "auto",
        "Maximum bytes buffered for all clients: unfinished requests and unread answers; auto: a quarter of the memory, at most 128m"
    )
    static let trustedProxies = Setting(
        "TRUSTED_PROXIES", .networks, in: .listen,
        "Proxies whose X-Forwarded-For is trusted, such as 10.0.0.1,10.1.0.0/16")
    static let showsOperations = Setting(
        "PUBLIC_OPERATIONS", .onOrOff, default: "on", in: .listen,
        "Serve /readyz and /metrics on the clients' port as well as on OPS_PORT")
    static let webClient = Setting(
        "WEB_CLIENT", .onOrOff, default: "on", in: .listen, "Serve the web client at /")
    static let allowedOrigins = Setting(
        "ALLOWED_ORIGINS", .origins, default: "*", in: .listen,
        "Origins whose pages may use /api and /socket.io/, such as https://app.example,https://beta.example; *: all")
    static let maxSocketsPerPerson = Setting(
        "MAX_SOCKETS_PER_PERSON", .number(1...100_000), default: "100", in: .limits,
        "Maximum sockets of one person on a gateway; one more disconnects the oldest")
    static let checks = Setting(
        "CHECKS", .checks, in: .tuning, unset: "those that services declare",
        "Checks to enforce, such as words:messaging.send,words:room:join, or none; a request gets 503 while a service that must check it is down or unknown"
    )

    static let serviceRates = Setting(
        "SERVICE_RATES", .rates(except: rates.map(\.limit)), in: .rates, unset: "the services'",
        "Rates of the limits that plugins declare, such as polls=60/10s,600/10s;votes=9/1m,90/1m")

    /// The settings `RATE_NAME` of the limits of Parlor's services, and of the gateway's own. `SERVICE_RATES` is for those of
    /// plugins. Without a value, a limit has the numbers that its owner declares.
    static let rates = (RateLimit.ofServices + OwnLimits.all).map { limit in
        let setting: Setting<Rate?> = Setting(
            "RATE_\(limit.name.uppercased())", limit.isOfAddresses ? .addressRate : .rate, in: .rates,
            unset: text(of: limit), limit.help)
        return (limit: limit.name, setting: setting)
    }

    /// Returns a limit in the form of its setting: `60/10s,600/10s`.
    private static func text(of limit: RateLimit) -> String {
        let window = limit.seconds % 3600 == 0 ? "\(limit.seconds / 3600)h" : "\(limit.seconds)s"
        let counts = limit.isOfAddresses ? [limit.perAddress] : [limit.perPerson, limit.perAddress]
        return counts.map { "\($0 % (1 << 20) == 0 ? "\($0 >> 20)m" : "\($0)")/\(window)" }.joined(separator: ",")
    }

    static let all: [any AnySetting] =
        [
            Setting.host, Setting.port, trustedProxies, allowedOrigins, showsOperations, webClient, pingInterval,
            idleTimeout, Setting.data, Setting.jwtSecretFile, Setting.requiredServices, globalScope, maxConnections,
            maxSocketsPerPerson, maxUnsentBytes, maxBufferedBytes, pingTimeout, requestTimeout, checks,
            maxConnectionsPerAddress, maxSocketsPerAddress, serviceRates, Setting.rateLimits,
        ] + rates.map(\.setting)
}

extension Configuration {
    /// The settings that replace limits' own numbers, by the limits' names.
    var rateOverrides: [String: Rate] {
        let named = GatewaySettings.rates.compactMap { limit, setting in self[setting].map { (limit, $0) } }
        return (self[GatewaySettings.serviceRates] ?? [:]).merging(named) { _, named in named }
    }

    /// Returns the limits of the edge: the settings, and defaults from the machine's resources.
    func edgeLimits(descriptors: Int, memory: Int, loops: Int) -> EdgeLimits {
        var limits = EdgeLimits.fitting(
            descriptors: descriptors, memory: memory, loops: loops, connections: self[GatewaySettings.maxConnections],
            buffered: self[GatewaySettings.maxBufferedBytes])
        if let count = self[GatewaySettings.maxConnectionsPerAddress] { limits.connections.perAddress = count }
        if let count = self[GatewaySettings.maxSocketsPerAddress] { limits.connectedSocketsPerAddress = count }
        if !self[.rateLimits] {
            limits.connections.perAddress = nil
            limits.connectedSocketsPerAddress = nil
            limits.unconnectedSockets.perAddress = nil
            limits.bufferedBytes.perAddress = nil
            limits.loopTimePerAddress = nil
        }
        return limits
    }
}

extension SettingKind where Value == CheckList {
    static var checks: SettingKind {
        SettingKind("has to be SERVICE:REQUEST, each once, such as words:messaging.send,words:room:join, or none") {
            CheckList($0)
        }
    }
}

extension SettingKind where Value == AllowedOrigins {
    static var origins: SettingKind {
        SettingKind("has to be * or origins such as https://app.example,https://beta.example") { AllowedOrigins($0) }
    }
}
